//! The command with weights of points and memberships in each cluster.

use std::{collections::BTreeSet, fmt::Write};

use firebox_core::{
    Precision,
    data::{Cell, Points, Shape, generate},
    plot::{Block, Branch, Plot, SeriesKind},
    random::Random,
};
use serde_json::Value;

use super::*;

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    /// Writes points of the plane to `points.csv`.
    fn write_points(&self, points: &Points) {
        let text: String = points.iter().map(|row| format!("{},{}\n", row[0], row[1])).collect();
        self.write("points.csv", &text);
    }

    /// Runs the command; arguments with a dot are files of the folder.
    fn run(&self, args: &str) -> Result<Outcome> {
        let path = |arg: &str| self.0.path().join(arg).display().to_string();
        let is_file = |arg: &str| arg.contains('.') && arg.parse::<f64>().is_err();
        let args = args.split_whitespace().map(|arg| if is_file(arg) { path(arg) } else { arg.into() });
        let matches = OcnnPlugin.command().get_matches_from(std::iter::once("ocnn".to_string()).chain(args));
        let device = Device::find("ndarray".parse().unwrap(), Precision::F32)?;
        OcnnPlugin.run(&matches, &device, &Session { seed: 3, ..Session::default() })
    }

    fn error(&self, args: &str) -> String {
        let error = self.run(args).unwrap_err();
        assert!(error.help().is_some(), "{error}");
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }

    /// Two tables of the same labelled points, `weighted.csv` and `repeated.csv`; returns the weights.
    fn sets(&self, shape: Shape) -> Vec<usize> {
        let points = generate(shape, Some(300), None, 5).unwrap();
        let mut random = Random::new(6, 0);
        let (mut weighted, mut repeated) = (String::from("x,m,class,y\n"), String::from("x,class,y\n"));
        let mut weights = Vec::new();
        for (row, class) in points.iter().zip(points.labels.as_ref().unwrap()) {
            let (x, y, weight) = (row[0], row[1], 1 + random.below(4));
            writeln!(weighted, "{x},{weight},{class},{y}").unwrap();
            (0..weight).for_each(|_| writeln!(repeated, "{x},{class},{y}").unwrap());
            weights.push(weight);
        }
        self.write("weighted.csv", &weighted);
        self.write("repeated.csv", &repeated);
        weights
    }
}

fn floats(table: &firebox_core::data::Table) -> Vec<Vec<f64>> {
    (0..table.rows()).map(|row| table.row(row).map(Cell::as_f64).collect()).collect()
}

#[test]
fn reports_of_weights_and_of_repeated_points_are_equal() {
    for (shape, cut) in [(Shape::Lsun, ""), (Shape::TwoDiamonds, "--clusters 7")] {
        let folder = Folder::new();
        let weights = folder.sets(shape);
        folder.write("new.csv", "x,y\n0.5,0.5\n2,3\n");
        folder.write("more.csv", "x,m,class,y\n0.5,1,7,0.5\n2,1,8,3\n");
        let run = |input: &str, args: &str| {
            let more = "--seeds 3 --memberships m.csv --scores s.csv --linkage l.npy --predict-output p.csv";
            folder.run(&format!("{input} --label class {more} {args} {cut}")).unwrap()
        };
        let weighted = run("weighted.csv --predict new.csv", "--point-weights m");
        let repeated = run("repeated.csv --predict new.csv", "");
        let ari = weighted.result["ari"].as_f64().unwrap();
        assert!(ari > 0.2 && (ari < 1.0 || cut.is_empty()) && weighted.result["nmi"].is_f64(), "{shape:?}: {ari}");
        // Exemplars are rows.
        let but_rows = |outcome: &Outcome| {
            let mut result = outcome.result.clone();
            let exemplars: Value = result.remove("exemplars").unwrap();
            (
                Value::Object(result),
                outcome.config.clone(),
                outcome.summary.clone(),
                exemplars.as_array().unwrap().len(),
            )
        };
        assert_eq!(but_rows(&weighted), but_rows(&repeated), "{shape:?}");
        let times = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            rows.into_iter().zip(&weights).flat_map(|(row, &weight)| vec![row; weight]).collect()
        };
        assert_eq!(times(floats(&weighted.table)), floats(&repeated.table));
        let [scores, memberships, linkage, predicted] = &weighted.tables[..] else { panic!("{:?}", weighted.tables) };
        let tables: Vec<_> = repeated.tables.iter().map(|(_, table)| floats(table)).collect();
        assert_eq!(times(floats(&scores.1)), tables[0]);
        assert_eq!(times(floats(&memberships.1)), tables[1]);
        assert_eq!(floats(&predicted.1), tables[3]);
        assert_eq!((linkage.1.rows(), linkage.1.width()), (weights.len() - 1, 4));
        assert_eq!(memberships.1.width() as u64, weighted.result["clusters"].as_u64().unwrap());
        assert!(floats(&memberships.1).iter().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert_eq!(memberships.1.names().next().unwrap(), "cluster0");
        // Columns by number; new points with the same columns.
        let more = "--predict more.csv --predict-output p.csv --seeds 3";
        let numbered = folder.run(&format!("weighted.csv --label 3 --point-weights 2 {more} {cut}"));
        assert_eq!(floats(&numbered.unwrap().tables[0].1), tables[3]);
    }
}

#[test]
fn unsuitable_weights_and_memberships_are_refused() {
    let folder = Folder::new();
    folder.write("w.csv", "x,m\n1,1\n2,0\n3,1\n");
    folder.write("half.csv", "x,m\n1,1\n2,1.5\n3,1\n");
    folder.write("graph.csv", "0,1,1\n1,2,1\n");
    for (args, expected) in [
        ("w.csv --point-weights m", "w.csv, row 2, column m: the weight 0 is no whole number from 1 to 4294967295"),
        ("half.csv --point-weights 2", "half.csv, row 2, column m: the weight 1.5 is no whole number"),
        ("w.csv --point-weights n", "w.csv: there is no column \"n\" to take the weights from"),
        ("w.csv --point-weights x --label 1", "w.csv, column x: both the labels and the weights are taken from"),
        ("graph.csv --metric graph --point-weights 3", "`point_weights` is a column beside coordinates"),
        ("graph.csv --metric precomputed --point-weights 3", "`point_weights` is a column beside coordinates"),
        ("w.csv --mode paper --threshold 0.5 --point-weights m", "`point_weights` belongs to `mode = auto`"),
        ("w.csv --mode paper --threshold 0.5 --memberships a.csv", "`memberships` belongs to `mode = auto`"),
    ] {
        let found = folder.error(args);
        assert!(found.starts_with(expected), "{args}: {found}");
    }
    let uniform = generate(Shape::Uniform, Some(200), None, 1).unwrap();
    folder.write_points(&uniform);
    let found = folder.error("points.csv --threshold 0.999999 --memberships a.csv");
    assert_eq!(found, "`memberships` has a column for each cluster, and there is no cluster");
    assert_eq!(folder.run("points.csv --threshold 0.999999").unwrap().result["clusters"], 0);
}

#[test]
fn trees_show_sizes_the_cut_and_the_chosen_clusters() {
    let folder = Folder::new();
    let points = generate(Shape::Lsun, None, None, 1).unwrap();
    folder.write_points(&points);
    let outcome = folder.run("points.csv --dendrogram d.svg --condensed-tree c.svg").unwrap();
    let clusters = outcome.result["clusters"].as_u64().unwrap() as usize;
    assert!(clusters > 1);
    let [(_, Plot::Lines(dendrogram)), (_, Plot::Blocks(tree))] = &outcome.plots[..] else {
        panic!("two plots: {:?}", outcome.plots)
    };
    // The sizes at the leaves are those of all points.
    let sizes = dendrogram.x_names.iter().map(|(_, size)| size.parse::<usize>().unwrap());
    assert_eq!(sizes.sum::<usize>(), points.rows);
    // One height makes these clusters.
    let cut = dendrogram.series.last().unwrap();
    assert_eq!((cut.name.as_str(), cut.kind, cut.points.len()), ("cut", SeriesKind::Guide, 2));
    assert_eq!(dendrogram.sizes.iter().sum::<usize>(), points.rows);

    let leaves: Vec<u64> =
        outcome.result["condensed_tree"]["leaves"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).collect();
    assert_eq!((tree.blocks.len(), tree.sizes.len()), (2 * leaves.len() - 1, clusters));
    let width = |block: &Block| block.x.1 - block.x.0;
    assert_eq!(tree.blocks[0].x, (0.0, points.rows as f64));
    for block in &tree.blocks {
        assert!(block.y.0 <= block.y.1 && block.labels.last() == Some(&width(block).to_string()), "{block:?}");
        if block.y.0 > 0.0 && block.y.0 < block.y.1 {
            // Below a block its branches fill its width.
            let is_within = |it: &&Block| it.x.0 >= block.x.0 && it.x.1 <= block.x.1 && it.y.1 == block.y.0;
            assert_eq!(tree.blocks.iter().filter(is_within).map(width).sum::<f64>(), width(block), "{block:?}");
        }
    }
    assert_eq!(coloured(&tree.blocks), (0..clusters).collect());
    // The root joins clusters.
    assert_eq!(tree.blocks[0].branch, Branch::Between);
}

/// The clusters of blocks.
fn coloured(blocks: &[Block]) -> BTreeSet<usize> {
    let cluster = |block: &Block| match block.branch {
        Branch::Cluster(cluster) => Some(cluster),
        _ => None,
    };
    blocks.iter().filter_map(cluster).collect()
}

#[test]
fn every_cluster_of_the_trees_is_drawn() {
    let folder = Folder::new();
    let points = generate(Shape::Blobs, Some(400), Some(2), 1).unwrap();
    folder.write_points(&points);
    let outcome = folder.run("points.csv --clusters 30 --dendrogram d.svg --condensed-tree c.svg").unwrap();
    let [(_, Plot::Lines(dendrogram)), (_, Plot::Blocks(tree))] = &outcome.plots[..] else {
        panic!("two plots: {:?}", outcome.plots)
    };
    assert_eq!(coloured(&tree.blocks), (0..30).collect());
    let clusters: Vec<_> = (0..30).map(|cluster| SeriesKind::Branch(Branch::Cluster(cluster))).collect();
    let kinds: Vec<_> = dendrogram.series.iter().map(|series| series.kind).collect();
    assert_eq!(kinds[..30], clusters);
    let between = kinds.iter().position(|&kind| kind == SeriesKind::Branch(Branch::Between)).unwrap();
    assert_eq!(dendrogram.series[between].name, "between clusters");
}

#[test]
fn noise_is_a_branch_of_its_own_and_counts_agree() {
    let folder = Folder::new();
    let points = generate(Shape::Target, None, None, 1).unwrap();
    folder.write_points(&points);
    let outcome = folder.run("points.csv --dendrogram d.svg --condensed-tree c.svg").unwrap();
    let noise = outcome.result["noise"].as_u64().unwrap() as usize;
    let [(_, Plot::Lines(dendrogram)), (_, Plot::Blocks(tree))] = &outcome.plots[..] else {
        panic!("two plots: {:?}", outcome.plots)
    };
    assert!(noise > 0 && (dendrogram.sizes.iter().sum::<usize>(), tree.noise) == (points.rows - noise, noise));
    let find = |kind: SeriesKind| dendrogram.series.iter().find(|series| series.kind == kind);
    assert_eq!(find(SeriesKind::Branch(Branch::Noise)).unwrap().name, format!("noise ({noise})"));
    // The widest block of each cluster has the cluster's points, and noise is beside it.
    for (cluster, &size) in tree.sizes.iter().enumerate() {
        let blocks = tree.blocks.iter().filter(|block| block.branch == Branch::Cluster(cluster));
        let widest = blocks.max_by(|a, b| (a.x.1 - a.x.0).total_cmp(&(b.x.1 - b.x.0))).unwrap();
        assert_eq!((widest.x.1 - widest.x.0, &widest.labels[0]), (size as f64, &format!("{cluster} ({size})")));
    }
    let last = tree.blocks.last().unwrap();
    assert_eq!((last.branch, last.x), (Branch::Noise, ((points.rows - noise) as f64, points.rows as f64)));
}
