use super::*;
use crate::data::generate::{Shape, generate};
use crate::data::points::Points;

fn svg(plot: &Plot) -> String {
    String::from_utf8(plot.render(Image::Svg, &Style::default()).unwrap()).unwrap()
}

fn both(plot: &Plot) {
    assert!(svg(plot).trim_end().ends_with("</svg>"));
    let png = plot.render(Image::Png, &Style::default()).unwrap();
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

/// Bytes of base 64, with padding.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{c} is no digit"),
    };
    let group = |group: &[u8]| {
        let kept = group.iter().filter(|&&c| c != b'=').count();
        let bits = (0..4).fold(0u32, |bits, k| bits << 6 | if k < kept { u32::from(digit(group[k])) } else { 0 });
        bits.to_be_bytes()[1..kept].to_vec()
    };
    text.as_bytes().chunks(4).flat_map(group).collect()
}

#[test]
fn many_points_of_an_svg_are_one_image() {
    let points = |n: usize| generate(Shape::Blobs, Some(n), None, 1).unwrap();
    // The legend has five further circles.
    assert_eq!(svg(&Plot::scatter("few", points(5000))).matches("<circle").count(), 5000 + 5);
    for theme in [Theme::Light, Theme::Dark] {
        let style = Style { theme, ..Style::default() };
        let draw = |n| String::from_utf8(Plot::scatter("many", points(n)).render(Image::Svg, &style).unwrap()).unwrap();
        let text = draw(20_000);
        assert!(text.len() < 300_000, "{} bytes", text.len());
        assert_eq!(text, draw(20_000));
        assert_eq!((text.matches("<circle").count(), text.matches("<image").count()), (5, 1));
        assert!(
            text.contains("many") && !text.contains('\u{1}') && text.matches("<text").count() > 8,
            "axes are texts"
        );
        let data = text.split_once("base64,").unwrap().1.split_once('"').unwrap().0;
        let mut reader = png::Decoder::new(std::io::Cursor::new(decoded(data))).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.color_type, pixels.len() as u32), (png::ColorType::Rgba, info.width * info.height * 4));
        let opaque = pixels.chunks(4).filter(|pixel| pixel[3] > 0).count() as f64 / f64::from(info.width * info.height);
        assert!((0.02..0.6).contains(&opaque), "a share of {opaque} is covered");
        // The first cluster's colour is there.
        let [r, g, b] = if theme == Theme::Light { [0, 114, 178] } else { [77, 163, 224] };
        let near = |pixel: &[u8]| [r, g, b].iter().zip(pixel).all(|(a, b): (&u8, &u8)| a.abs_diff(*b) < 8);
        assert!(pixels.chunks(4).any(|pixel| pixel[3] > 150 && near(pixel)));
    }
    // Three projections are three images.
    let points = generate(Shape::Hepta, Some(6000), None, 1).unwrap();
    assert_eq!(svg(&Plot::scatter("three", points)).matches("<image").count(), 3);
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
    let one = Points::new(vec![0.0, 0.0], 2).unwrap();
    let none = Points { values: vec![], rows: 0, names: vec![], ..one };
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
    let animated = Plot::Animated(Animated {
        still: Box::new(still.clone()),
        frames: (0..4).map(|k| (format!("t = {k}"), heat(k))).collect(),
    });
    assert_eq!(svg(&animated), svg(&still));
    let bytes = animated.render(Image::Gif, &Style::default()).unwrap();
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
    assert!(still.render(Image::Gif, &Style::default()).is_err());
    assert!(
        Plot::Animated(Animated { still: Box::new(still), frames: Vec::new() })
            .render(Image::Gif, &Style::default())
            .is_err()
    );
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
fn heat_maps_have_labelled_lines_and_end_at_the_boundary() {
    let at = |k: u32| (f64::from(k % 41) / 20.0 - 1.0, f64::from(k / 41) / 20.0 - 1.0);
    let points = || (0..41 * 41).map(at);
    let values = points().map(|(x, y)| if x.hypot(y) <= 0.8 { 10.0 * x.hypot(y) } else { f64::NAN }).collect();
    let distance = Some(points().map(|(x, y)| x.hypot(y) - 0.8).collect());
    let heat = Heat { x: (-1.0, 1.0), y: (-1.0, 1.0), columns: 41, values, distance, ..Heat::default() };
    let text = svg(&Plot::Heat(heat.clone()));
    assert_eq!(text.matches("<image").count(), 1);
    // The ticks of the colour bar, and the same numbers at their lines.
    for level in ["2", "4", "6"] {
        assert!(text.matches(&format!("\n{level}\n")).count() >= 2, "{level}");
    }
    let plain = svg(&Plot::Heat(Heat { plain: true, ..heat }));
    assert!(plain.matches("<polyline").count() + 50 < text.matches("<polyline").count());
    let data = plain.split_once("base64,").unwrap().1.split_once('"').unwrap().0;
    let mut reader = png::Decoder::new(std::io::Cursor::new(decoded(data))).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let covered = pixels.chunks(4).filter(|pixel| pixel[3] == 255).count() as f64;
    let disc = std::f64::consts::PI * 0.16 * f64::from(info.width * info.height);
    // Cells of 0.05 that are not cut would differ by some percent.
    assert!((covered / disc - 1.0).abs() < 2e-3, "{}", covered / disc);
}

#[test]
fn circles_are_drawn() {
    let circles = vec![[0.0, 0.0, 1.0], [1.0, 1.0, 1e-9], [0.5, 0.5, 1e9], [f64::NAN, 0.0, 1.0]];
    let outline = vec![(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)];
    both(&Plot::Circles(Circles { circles, outline, ..Circles::default() }));
    both(&Plot::Circles(Circles::default()));
    // Of a circle larger than half the plot only the centre is drawn.
    let of = |radius: f64| {
        let circles = [0.0, 1.0].map(|at| [at, at, radius]).to_vec();
        svg(&Plot::Circles(Circles { circles, ..Circles::default() }))
    };
    let (small, large) = (of(0.3), of(5.0));
    assert!(small.contains("radius 0.300") && large.contains("radius 5.00"));
    assert!(large.contains("centres only") && !small.contains("centres only"));
    assert!(small.matches("<polyline").count() > large.matches("<polyline").count());
    assert_eq!(small.matches("<circle").count(), large.matches("<circle").count());
}

#[test]
fn counts_are_drawn() {
    for classes in [0, 1, 2, 10, 30, 200] {
        let names = (0..classes).map(|k| format!("class {k}")).collect();
        let counts = (0..classes * classes).map(|at| if at % 7 == 0 { at as u64 } else { 0 }).collect();
        both(&Plot::Matrix(Matrix { title: "t".into(), names, counts, ..Matrix::default() }));
    }
}

/// Pixels of a plot with its width and height.
fn pixels(plot: &Plot, style: &Style) -> (u32, u32, Vec<u8>) {
    let png = plot.render(Image::Png, style).unwrap();
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    (info.width, info.height, pixels)
}

/// A root above two branches, one of which is a cluster.
fn blocks() -> Blocks {
    let block = |x, y, branch, label: &str| Block { x, y, branch, labels: vec!["wide ".repeat(30), label.into()] };
    let blocks = vec![
        block((0.0, 100.0), (0.5, 1.0), Branch::Between, "100"),
        block((0.0, 99.0), (0.0, 0.5), Branch::Cluster(0), "99"),
        block((99.0, 100.0), (0.0, 0.5), Branch::Cluster(1), "narrow"),
    ];
    Blocks { title: "tree".into(), sizes: vec![99, 1], blocks, ..Blocks::default() }
}

#[test]
fn blocks_have_labels_where_they_fit() {
    let text = svg(&Plot::Blocks(blocks()));
    assert!(
        text.contains("\n99\n") && !text.contains("narrow") && text.contains("#0072B2") && text.contains("#E69F00")
    );
    assert!(!text.contains("wide") && text.contains("0 (99)") && text.contains("between clusters"));
    both(&Plot::Blocks(Blocks::default()));
}

#[test]
fn branches_have_the_colours_of_their_clusters_and_a_legend_of_the_largest() {
    let sizes: Vec<usize> = (1..=34).collect();
    let branch = |branch: Branch| {
        let points = [(0.0, 0.0), (1.0, 1.0)];
        Series::new(branch.name(&sizes, 7), points).of_kind(SeriesKind::Branch(branch))
    };
    let cut = Series::new("cut", [(0.5, 0.5)]).of_kind(SeriesKind::Marks);
    let clusters = (0..34).map(|rank| branch(Branch::Cluster(rank)));
    let series = clusters.chain([branch(Branch::Noise), branch(Branch::Between), cut]).collect();
    let text = svg(&Plot::Lines(Lines { plain: true, sizes: sizes.clone(), series, ..Lines::default() }));
    let palette = Theme::Light.palette();
    for rank in 0..34 {
        let plotters::style::RGBColor(r, g, b) = palette.cluster(rank, 34).0;
        // The branch, and for the twelve largest the legend's line.
        let lines = text.lines().filter(|line| line.contains("<polyline"));
        let count = lines.filter(|line| line.contains(&format!("#{r:02X}{g:02X}{b:02X}"))).count();
        assert_eq!(count, if rank < 22 { 1 } else { 2 }, "{rank}");
    }
    for entry in ["and 22 more", "33 (34)", "22 (23)", "noise (7)", "between clusters", "cut"] {
        assert!(text.contains(&format!("\n{entry}\n")), "{entry}");
    }
    assert!(!text.contains("21 (22)"));
}

#[test]
fn names_replace_ticks_and_guides_are_dashed() {
    let names = |n: u32| (0..n).map(|k| (f64::from(k), format!("name {k}"))).collect();
    for (n, is_level) in [(3, true), (60, false)] {
        let series = vec![
            Series::new("a", [(0.0, 0.0), (f64::from(n), 1.0)]),
            Series::new("b", [(0.0, 0.5), (1.0, 0.5)]).as_guide(),
        ];
        let text = svg(&Plot::Lines(Lines { x_names: names(n), series, ..Lines::default() }));
        assert_eq!(text.matches("name ").count(), n as usize);
        assert_eq!(text.matches("rotate(270").count() > 3, !is_level);
        assert!(text.matches("#6E6E6E").count() > 3, "dashes");
    }
    both(&Plot::Lines(Lines { x_names: names(1), ..Lines::default() }));
}

/// A plot of each kind.
fn kinds() -> Vec<Plot> {
    let scatter = |dims| Plot::scatter("scatter", generate(Shape::Blobs, Some(300), Some(dims), 1).unwrap());
    let heat = Heat {
        columns: 20,
        values: (0..400).map(f64::from).collect(),
        x: (0.0, 1.0),
        y: (0.0, 1.0),
        ..Heat::default()
    };
    let series = vec![Series::new("a", [(0.0, 1.0), (2.0, 3.0)]), Series::new("b", [(0.0, 3.0), (2.0, 1.0)])];
    let names = (0..4).map(|k| format!("class {k}")).collect();
    vec![
        scatter(1),
        scatter(2),
        scatter(3),
        scatter(5),
        Plot::diagonal("diagonal", ["true", "predicted"], vec![0.0, 0.1, 1.0, 0.9]),
        Plot::Lines(Lines { series, ..Lines::default() }),
        Plot::Heat(heat),
        Plot::Circles(Circles { circles: vec![[0.0, 0.0, 1.0], [3.0, 1.0, 1.0]], ..Circles::default() }),
        Plot::Blocks(blocks()),
        Plot::Matrix(Matrix { names, counts: (0..16).collect(), ..Matrix::default() }),
    ]
}

#[test]
fn plots_have_the_size_that_is_asked_for() {
    for (width, height) in [(1200, 800), (300, 600), (240, 240)] {
        let style = Style { size: Some(Size::new(width, height).unwrap()), ..Style::default() };
        for plot in kinds() {
            let (wide, high, pixels) = pixels(&plot, &style);
            assert_eq!((wide, high), (width, height));
            // A wide and a high enough part of the page is used.
            let is_ink = |(_, pixel): &(usize, &[u8])| pixel.iter().any(|&part| part < 250);
            let ink = pixels.chunks(3).enumerate().filter(is_ink).map(|(at, _)| (at as u32 % wide, at as u32 / wide));
            let (mut x, mut y) = ([wide, 0], [high, 0]);
            for (column, row) in ink {
                x = [x[0].min(column), x[1].max(column)];
                y = [y[0].min(row), y[1].max(row)];
            }
            let shares = [f64::from(x[1] - x[0]) / f64::from(wide), f64::from(y[1] - y[0]) / f64::from(high)];
            assert!(shares[0].max(shares[1]) > 0.75, "{width}x{height}: {shares:?}");
            // Nothing touches the edges.
            assert!(x[0] > 0 && y[0] > 0 && x[1] + 1 < wide && y[1] + 1 < high, "{width}x{height}: {x:?} {y:?}");
            let text = String::from_utf8(plot.render(Image::Svg, &style).unwrap()).unwrap();
            assert!(text.contains(&format!("width=\"{width}\" height=\"{height}\"")));
        }
    }
}

#[test]
fn dark_plots_are_light_on_dark() {
    let style = Style { theme: Theme::Dark, ..Style::default() };
    for plot in kinds() {
        let (_, _, pixels) = pixels(&plot, &style);
        assert_eq!(pixels[..3], [24, 26, 30]);
        assert!(pixels.iter().any(|&part| part > 200), "there is light ink");
        assert!(!String::from_utf8(plot.render(Image::Svg, &style).unwrap()).unwrap().contains("#FFFFFF"));
    }
}

#[test]
fn a_given_title_replaces_that_of_the_plot() {
    let titled = |title: &str| Style { title: Some(title.into()), ..Style::default() };
    let text = |plot: &Plot, title| String::from_utf8(plot.render(Image::Svg, &titled(title)).unwrap()).unwrap();
    let plot = Plot::scatter("own", generate(Shape::Lsun, Some(50), None, 1).unwrap());
    assert!(svg(&plot).contains("own"));
    assert!(text(&plot, "mine & yours").contains("mine &amp; yours") && !text(&plot, "mine").contains("own"));
    assert!(!text(&plot, "").contains("own"));
    let frames = vec![("t = 1".to_string(), plot.clone()), ("t = 2".to_string(), plot.clone())];
    let animated = Plot::Animated(Animated { still: Box::new(plot), frames });
    // The frames differ by the time in their titles alone.
    let gif = animated.render(Image::Gif, &titled("mine")).unwrap();
    let mut decoder = gif::DecodeOptions::new().read_info(&gif[..]).unwrap();
    let mut frame = || decoder.read_next_frame().unwrap().unwrap().buffer.to_vec();
    assert!(frame() != frame());
}
