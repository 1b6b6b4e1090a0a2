#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| firebox_fuzz::parquet(bytes));
