//! Writes the tables that the library reads in place: a class for every character, and one hash
//! table of tokens per vocabulary. A program parses nothing when it starts.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use unicode_general_category::{GeneralCategory, get_general_category};

#[path = "src/class_bits.rs"]
mod class_bits;
#[cfg(feature = "openai")]
#[path = "build/vocabulary.rs"]
mod vocabulary;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=src/class_bits.rs");
    println!("cargo::rerun-if-changed=src/bpe/layout.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    write_classes(&folder);
    #[cfg(feature = "openai")]
    vocabulary::write_all(&folder);
}

/// Writes a class for every character, in blocks of 256: `blocks` holds the distinct blocks, and
/// `block_of` gives the block number for each `character / 256`.
fn write_classes(folder: &Path) {
    let mut blocks = Vec::new();
    let mut block_of = Vec::new();
    let mut seen = HashMap::new();
    for high in 0..0x1100_u32 {
        let block: Vec<u8> = (0..256).map(|low| class(high * 256 + low)).collect();
        let index = *seen.entry(block.clone()).or_insert_with(|| {
            blocks.extend_from_slice(&block);
            u8::try_from(blocks.len() / 256 - 1).expect("there are fewer than 256 blocks")
        });
        block_of.push(index);
    }
    write(folder, "class_blocks.bin", &blocks);
    write(folder, "class_block_of.bin", &block_of);
}

fn class(code: u32) -> u8 {
    use GeneralCategory as G;
    use class_bits::{DECIMAL, LETTER, LOWER, NEWLINE, NUMBER, SPACE, TITLE, UPPER};

    let Some(character) = char::from_u32(code) else {
        return 0;
    };
    let mut class = match get_general_category(character) {
        G::UppercaseLetter => LETTER | UPPER,
        G::TitlecaseLetter => LETTER | UPPER | TITLE,
        G::LowercaseLetter => LETTER | LOWER,
        G::ModifierLetter | G::OtherLetter => LETTER | UPPER | LOWER,
        G::NonspacingMark | G::SpacingMark | G::EnclosingMark => UPPER | LOWER,
        G::DecimalNumber => NUMBER | DECIMAL,
        G::LetterNumber | G::OtherNumber => NUMBER,
        _ => 0,
    };
    if character.is_whitespace() {
        class |= SPACE;
    }
    if matches!(character, '\r' | '\n') {
        class |= NEWLINE;
    }
    class
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    fs::write(folder.join(name), bytes).expect("OUT_DIR is writable");
}
