//! Documents that are moved to a sink while they are written.

use std::io;

use ctx_format::{DocumentWriter, FormatOptions, formatter};
use ctx_testkit::generate;
use ctx_testkit::laws::documents::{NOTICE, block_of, document};
use proptest::prelude::*;

/// Takes nothing.
struct Full;

impl io::Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_document_that_is_drained_is_the_same(
        chunks in generate::chunks(0..6),
        options in generate::options(),
    ) {
        let Ok(formatter) = formatter(options.format, &FormatOptions::from(&options)) else {
            return Ok(());
        };
        let (mut sink, mut text) = (Vec::new(), String::new());
        let mut writer = DocumentWriter::new(&*formatter, &mut text);
        writer.header(options.header.as_deref());
        writer.drain_to(&mut sink).unwrap();
        for chunk in &chunks {
            writer.block(&block_of(chunk));
            let position = writer.position();
            writer.drain_to(&mut Full).unwrap_err();
            writer.drain_to(&mut sink).unwrap();
            prop_assert_eq!((writer.position(), sink.len()), (position, position));
        }
        if options.include_sources {
            writer.sources(&mut chunks.iter().map(block_of));
        }
        if options.include_notice {
            writer.notice(&NOTICE);
        }
        writer.finish(options.footer.as_deref()).unwrap();
        sink.extend_from_slice(text.as_bytes());
        let whole = document(&*formatter, &options, &chunks);
        prop_assert_eq!(sink, whole.into_bytes());
    }
}
