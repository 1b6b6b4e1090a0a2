//! Tests the collectives. The test starts itself under mpirun, once for each number of ranks.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    env,
    process::{Command, ExitCode},
};

use firebox_core::Communicator;
use firebox_mpi::World;

fn main() -> ExitCode {
    if env::var_os("FIREBOX_TEST_RANK").is_some() {
        // A limit of 40 bytes per call slices every message; the second limit slices none.
        let world = check(World::start().expect("MPI starts").with_max_bytes(40));
        check(world.with_max_bytes(1 << 30)).finish();
        return ExitCode::SUCCESS;
    }
    for ranks in ["1", "2", "3", "5"] {
        let mut mpirun = Command::new("mpirun");
        // Allow more ranks than cores, and root in containers.
        mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        mpirun.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        mpirun.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").env("FIREBOX_TEST_RANK", "1");
        let status = mpirun.args(["-n", ranks]).arg(env::current_exe().unwrap()).status();
        assert!(status.expect("mpirun is part of the MPI that this was built with").success(), "{ranks} ranks");
        println!("{ranks} ranks: all collectives are correct");
    }
    ExitCode::SUCCESS
}

/// Returns `count` distinct numbers of rank `rank`.
fn numbers(rank: usize, count: usize) -> Vec<f64> {
    (0..count).map(|k| 0.1 + (rank * 1000 + k) as f64).collect()
}

fn check(world: World) -> World {
    let (rank, size) = (world.rank(), world.size());
    let communicator: &dyn Communicator = &world;
    // Different counts, including 0.
    for count in [0, 1, 7, 30] {
        let part = |rank: usize| numbers(rank, if rank == 1 { 0 } else { count + 3 * rank });
        let expected: Vec<f64> = (0..size).flat_map(part).collect();
        assert_eq!(communicator.all_gather(&part(rank)), expected);
        assert_eq!(communicator.all_gather_known(&part(rank), (0..size).map(|rank| part(rank).len())), expected);
    }
    let texts: Vec<String> = (0..size).map(|rank| "µ".repeat(rank)).collect();
    assert_eq!(communicator.all_gather_str(&texts[rank]), texts);

    for count in [0, 1, 2, 13, 500] {
        for unit in [1, 4] {
            let parts = communicator.share().all(count, unit);
            let expected: Vec<f64> = (0..count).map(|k| (0..size).map(|rank| numbers(rank, count)[k]).sum()).collect();
            assert_eq!(communicator.sum_parts(&numbers(rank, count), &parts), expected[parts[rank].clone()]);
        }
    }
    // Sizes below and above the threshold from which each rank sums one part.
    for count in [0, 1, 40, (1 << 16) / size, (1 << 16) / size + 1] {
        let mut sums = numbers(rank, count);
        communicator.all_sum(&mut sums);
        let expected: Vec<f64> = (0..count).map(|k| (0..size).map(|rank| numbers(rank, count)[k]).sum()).collect();
        assert_eq!(sums, expected);
        let mut short: Vec<f32> = numbers(rank, count).iter().map(|&x| x as f32).collect();
        communicator.all_sum(&mut short);
        let expected = (0..count).map(|k| (0..size).map(|rank| f64::from(numbers(rank, count)[k] as f32)).sum::<f64>());
        assert_eq!(short, expected.map(|sum| sum as f32).collect::<Vec<_>>());
    }
    let root = communicator.broadcast_from_root::<u32, ()>(|| if rank == 0 { Ok(vec![7; 5]) } else { Err(()) });
    assert_eq!(root, Ok(vec![7; 5]));
    assert_eq!(communicator.broadcast_value(rank as u32 + 3), 3);
    for length in [0, 1, 333] {
        let bytes = vec![rank as u8 + 7; length];
        assert_eq!(communicator.broadcast(bytes), vec![7; length]);
    }
    assert!(size == 1 || communicator.seconds() > 0.0);
    world
}
