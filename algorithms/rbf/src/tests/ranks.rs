//! Ranks as threads, for tests.

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
    /// Gathers the bytes of every rank.
    fn gathered(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let (barrier, all) = &*self.all;
        all.lock().unwrap()[self.rank] = own.to_vec();
        barrier.wait();
        let gathered = all.lock().unwrap().clone();
        barrier.wait();
        gathered
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
        self.gathered(own).concat()
    }

    fn exchange(&self, own: &[u8], counts: &[usize]) -> Vec<u8> {
        let start: usize = counts[..self.rank].iter().sum();
        self.gathered(own).into_iter().flat_map(|bytes| bytes[start..start + counts[self.rank]].to_vec()).collect()
    }

    fn broadcast(&self, bytes: Vec<u8>) -> Vec<u8> {
        self.gathered(&bytes).swap_remove(0)
    }

    fn abort(&self, code: u8) -> ! {
        std::process::exit(code.into())
    }

    fn seconds(&self) -> f64 {
        0.0
    }
}

/// The results of `work` on each of `size` ranks.
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
