#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ctx_testkit::fuzz::tokens(data));
