//! Published timings (Benderskaya and Tolstov, GTX 580).

/// Table 1: points, and milliseconds for 5000 steps by Y-threads, X-threads, thread per neuron.
pub(crate) const TABLE_1: [(usize, [f64; 3]); 7] = [
    (1000, [342.0, 322.0, 1201.0]),
    (2000, [700.0, 755.0, 2273.0]),
    (3000, [1408.0, 1454.0, 3381.0]),
    (4000, [2372.0, 2354.0, 4611.0]),
    (8000, [9229.0, 9631.0, 10254.0]),
    (12000, [21127.0, 20692.0, 20036.0]),
    (16000, [37722.0, 36937.0, 33003.0]),
];

/// Table 2: points, seconds for a whole run of 1000 steps on the CPU (8 threads), and by thread per neuron,
/// X-threads, Y-threads.
pub(crate) const TABLE_2: [(usize, f64, [f64; 3]); 6] = [
    (1000, 1.6, [0.43, 0.26, 0.26]),
    (2000, 2.6, [0.65, 0.35, 0.35]),
    (4000, 7.8, [1.51, 1.05, 1.04]),
    (10000, 47.6, [6.23, 6.12, 6.15]),
    (14000, 92.7, [11.45, 11.92, 12.07]),
    (16000, 121.2, [14.61, 15.39, 15.61]),
];

/// Figure 4: numbers of points; published as curves, without numbers.
pub(crate) const FIGURE_4_POINTS: [usize; 3] = [2000, 4000, 8000];

/// Figure 4: periods.
pub(crate) const FIGURE_4_PERIODS: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
