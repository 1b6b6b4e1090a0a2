//! The collectives, on ranks that the test starts itself: it runs once under mpirun for each number of them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    env,
    process::{Command, ExitCode},
};

use firebox_core::Communicator;
use firebox_mpi::World;

fn main() -> ExitCode {
    if env::var_os("FIREBOX_TEST_RANK").is_some() {
        // Calls of so few bytes that everything goes in slices, and calls that take all at once.
        let world = check(World::start().expect("MPI starts").in_calls_of(40));
        check(world.in_calls_of(1 << 30)).finish();
        return ExitCode::SUCCESS;
    }
    for ranks in ["1", "2", "3", "5"] {
        let mut mpirun = Command::new("mpirun");
        // More ranks than cores, as root in a container too.
        mpirun.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        mpirun.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
        mpirun.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").env("FIREBOX_TEST_RANK", "1");
        let ended = mpirun.args(["-n", ranks]).arg(env::current_exe().unwrap()).status();
        assert!(ended.expect("mpirun is part of the MPI that this was built with").success(), "{ranks} ranks");
        println!("{ranks} ranks: all collectives gave what they should");
    }
    ExitCode::SUCCESS
}

/// So many numbers of rank `rank`, all different.
fn numbers(rank: usize, count: usize) -> Vec<f64> {
    (0..count).map(|k| 0.1 + (rank * 1000 + k) as f64).collect()
}

fn check(world: World) -> World {
    let (rank, size) = (world.rank(), world.size());
    let ranks: &dyn Communicator = &world;
    // Counts that differ, none among them.
    for count in [0, 1, 7, 30] {
        let of = |rank: usize| numbers(rank, if rank == 1 { 0 } else { count + 3 * rank });
        let wanted: Vec<f64> = (0..size).flat_map(of).collect();
        assert_eq!(ranks.all_gather(&of(rank)), wanted);
        assert_eq!(ranks.all_gather_known(&of(rank), (0..size).map(|rank| of(rank).len())), wanted);
    }
    let said: Vec<String> = (0..size).map(|rank| "µ".repeat(rank)).collect();
    assert_eq!(ranks.all_say(&said[rank]), said);

    for count in [0, 1, 2, 13, 500] {
        for unit in [1, 4] {
            let parts = ranks.share().all(count, unit);
            let wanted: Vec<f64> = (0..count).map(|k| (0..size).map(|rank| numbers(rank, count)[k]).sum()).collect();
            assert_eq!(ranks.sum_parts(&numbers(rank, count), &parts), wanted[parts[rank].clone()]);
        }
    }
    // On either side of where ranks share the adding up.
    for count in [0, 1, 40, (1 << 16) / size, (1 << 16) / size + 1] {
        let mut sums = numbers(rank, count);
        ranks.all_sum(&mut sums);
        let wanted: Vec<f64> = (0..count).map(|k| (0..size).map(|rank| numbers(rank, count)[k]).sum()).collect();
        assert_eq!(sums, wanted);
        let mut short: Vec<f32> = numbers(rank, count).iter().map(|&x| x as f32).collect();
        ranks.all_sum(&mut short);
        let wanted = (0..count).map(|k| (0..size).map(|rank| f64::from(numbers(rank, count)[k] as f32)).sum::<f64>());
        assert_eq!(short, wanted.map(|sum| sum as f32).collect::<Vec<_>>());
    }
    let first = ranks.from_first::<u32, ()>(|| if rank == 0 { Ok(vec![7; 5]) } else { Err(()) });
    assert_eq!(first, Ok(vec![7; 5]));
    assert_eq!(ranks.first(rank as u32 + 3), 3);
    for length in [0, 1, 333] {
        let bytes = vec![rank as u8 + 7; length];
        assert_eq!(ranks.broadcast(bytes), vec![7; length]);
    }
    assert!(size == 1 || ranks.seconds() > 0.0);
    world
}
