//! Ranks for tests: threads of one process.

use std::{
    sync::{Arc, Barrier, Mutex},
    thread,
};

use firebox_core::Communicator;

#[derive(Debug)]
struct Thread {
    rank: usize,
    all: Arc<(Barrier, Mutex<Vec<Vec<u8>>>)>,
}

impl Thread {
    /// What every rank tells.
    fn told(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let (barrier, told) = &*self.all;
        told.lock().unwrap()[self.rank] = own.to_vec();
        barrier.wait();
        let told = told.lock().unwrap().clone();
        barrier.wait();
        told
    }
}

impl Communicator for Thread {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.all.1.lock().unwrap().len()
    }

    fn gather(&self, own: &[u8], counts: &[usize]) -> Vec<u8> {
        assert_eq!(own.len(), counts[self.rank]);
        self.told(own).concat()
    }

    fn exchange(&self, own: &[u8], counts: &[usize]) -> Vec<u8> {
        let start: usize = counts[..self.rank].iter().sum();
        self.told(own).into_iter().flat_map(|told| told[start..start + counts[self.rank]].to_vec()).collect()
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.told(&bytes).swap_remove(0)
    }

    fn abort(&self, code: u8) -> ! {
        std::process::exit(code.into())
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

/// What each of so many ranks makes.
pub(crate) fn ranks<T: Send>(size: usize, work: impl Fn(Arc<dyn Communicator>) -> T + Sync) -> Vec<T> {
    let all = Arc::new((Barrier::new(size), Mutex::new(vec![Vec::new(); size])));
    let work = &work;
    thread::scope(|scope| {
        let thread = |rank| {
            let all = all.clone();
            scope.spawn(move || work(Arc::new(Thread { rank, all })))
        };
        let threads: Vec<_> = (0..size).map(thread).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}
