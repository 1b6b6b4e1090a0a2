use super::*;
use crate::data::generate::{Shape, generate};
use crate::data::points::Points;

fn svg(plot: &Plot) -> String {
    String::from_utf8(plot.render(Image::Svg).unwrap()).unwrap()
}

fn both(plot: &Plot) {
    assert!(svg(plot).trim_end().ends_with("</svg>"));
    let png = plot.render(Image::Png).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
    assert!(pixels.iter().any(|&pixel| pixel < 100), "there is ink");
}

#[test]
fn every_dimension_is_drawn() {
    for (shape, dims) in [(Shape::Uniform, Some(1)), (Shape::Lsun, None), (Shape::Hepta, None), (Shape::Blobs, Some(7))]
    {
        let points = generate(shape, None, dims, 1).unwrap();
        both(&Plot::scatter(format!("{shape:?} <&> \u{1}"), points));
    }
}

#[test]
fn the_legend_counts_clusters_and_noise() {
    let points = Points::new((0..20).map(f64::from).collect(), 2).unwrap();
    let points = points.with_labels(vec![4, 4, 4, -1, 4, -1, 9, 9, 9, 9]).unwrap();
    let text = svg(&Plot::scatter("t", points.clone()));
    for entry in ["4 (4)", "9 (4)", "noise (2)"] {
        assert!(text.contains(entry), "{entry}");
    }
    let many = points.with_labels((0..10).map(|i| i * 5).collect()).unwrap();
    assert!(!svg(&Plot::scatter("t", many)).contains("clusters"));
    let many = generate(Shape::Uniform, Some(100), None, 1).unwrap().with_labels((0..100).collect()).unwrap();
    assert!(svg(&Plot::scatter("t", many)).contains("and 88 more"));
}

#[test]
fn a_large_svg_draws_a_sample() {
    let points = generate(Shape::Blobs, Some(30_000), None, 1).unwrap();
    let text = svg(&Plot::scatter("large", points));
    assert!(text.contains("20\u{a0}000 of 30\u{a0}000 points drawn, chosen at random"));
    let dots = text.matches("<circle").count();
    assert_eq!(dots, 20_000 + 5);
}

#[test]
fn degenerate_points_are_drawn() {
    let mut points = Points::new(vec![1.0, 2.0, 3.0, 4.0], 2).unwrap();
    points.values[1] = f64::NAN;
    assert!(svg(&Plot::scatter("", points)).contains("1 points that are not finite are left out"));
    for values in [vec![5.0; 6], vec![1e300, -1e300, 0.0, 1.0, 2.0, 3.0], vec![0.0, 1e9, 1.0, -1e9, 0.5, 0.0]] {
        for columns in [1, 2, 3, 6] {
            both(&Plot::scatter("", Points::new(values.clone(), columns).unwrap()));
        }
    }
    let none = Points { values: vec![], rows: 0, columns: 2, names: vec![], labels: None, label_names: None };
    both(&Plot::scatter("none", none));
    let long = Points::new(vec![1.0, 2.0], 2).unwrap();
    both(&Plot::scatter("a very long title ".repeat(50), long));
}

#[test]
fn curves_are_drawn() {
    let series = vec![
        Series::new("a", (1..=100).map(|i| (f64::from(i), 1.0 / f64::from(i)))),
        Series::new("b", [(1.0, 0.5), (2.0, f64::NAN), (3.0, 0.0), (50.0, 1e-3)]),
        Series::new("c", []),
    ];
    for (log_x, log_y) in [(false, false), (true, false), (false, true), (true, true)] {
        let lines = Lines { title: "t".into(), log_x, log_y, series: series.clone(), ..Lines::default() };
        both(&Plot::Lines(lines));
    }
    both(&Plot::Lines(Lines::default()));
}

#[test]
fn animations_have_frames_of_one_size() {
    let heat = |k: u32| {
        let values = (0..30).map(|i| f64::from(i + k)).collect();
        let (title, range) = (format!("t = {}", 10u64.pow(3 * k)), Some((0.0, 40.0)));
        Plot::Heat(Heat { title, range, columns: 6, values, x: (0.0, 5.0), y: (0.0, 4.0), ..Heat::default() })
    };
    let still = heat(0);
    let animated = Plot::Animated(Animated { still: Box::new(still.clone()), frames: (0..4).map(heat).collect() });
    assert_eq!(animated.render(Image::Svg).unwrap(), still.render(Image::Svg).unwrap());
    let bytes = animated.render(Image::Gif).unwrap();
    let mut decoder = gif::DecodeOptions::new();
    decoder.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = decoder.read_info(&bytes[..]).unwrap();
    let (size, mut frames) = ((decoder.width(), decoder.height()), Vec::new());
    while let Some(frame) = decoder.read_next_frame().unwrap() {
        assert_eq!((frame.width, frame.height), size);
        frames.push((frame.delay, frame.buffer.to_vec()));
    }
    assert_eq!(frames.iter().map(|frame| frame.0).collect::<Vec<_>>(), [10, 10, 10, 100]);
    assert!(frames.windows(2).all(|pair| pair[0].1 != pair[1].1));
    assert!(still.render(Image::Gif).is_err());
    assert!(Plot::Animated(Animated { still: Box::new(still), frames: Vec::new() }).render(Image::Gif).is_err());
}

#[test]
fn heat_maps_are_drawn() {
    let values = |n: usize| (0..n).map(|i| (i as f64 * 0.1).sin()).collect::<Vec<f64>>();
    let heat = Heat { x: (0.0, 2.0), y: (-1.0, 0.0), columns: 21, values: values(21 * 11), ..Heat::default() };
    for signed in [false, true] {
        both(&Plot::Heat(Heat { signed, title: "t".into(), ..heat.clone() }));
    }
    let holes = |k: usize| if k.is_multiple_of(3) { f64::NAN } else { 5.0 };
    let far = (0.0, 1e9);
    both(&Plot::Heat(Heat { values: (0..231).map(holes).collect(), x: far, ..heat.clone() }));
    for values in [vec![], vec![f64::NAN; 4], vec![1e308, -1e308, 0.0, 1.0], vec![0.0; 4]] {
        both(&Plot::Heat(Heat { columns: 2, values, ..heat.clone() }));
    }
    both(&Plot::Heat(Heat::default()));
}

#[test]
fn circles_are_drawn() {
    let circles = vec![[0.0, 0.0, 1.0], [1.0, 1.0, 1e-9], [0.5, 0.5, 1e9], [f64::NAN, 0.0, 1.0]];
    let outline = vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)];
    both(&Plot::Circles(Circles { circles, outline, ..Circles::default() }));
    both(&Plot::Circles(Circles::default()));
}

#[test]
fn counts_are_drawn() {
    for classes in [0, 1, 2, 10, 30, 200] {
        let names = (0..classes).map(|k| format!("class {k}")).collect();
        let counts = (0..classes * classes).map(|at| if at % 7 == 0 { at as u64 } else { 0 }).collect();
        both(&Plot::Matrix(Matrix { title: "t".into(), names, counts, ..Matrix::default() }));
    }
}
