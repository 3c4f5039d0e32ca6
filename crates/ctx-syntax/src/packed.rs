//! A compact encoding of outlines, so that a text need not be parsed again.
//!
//! Names are stored once each, in a table; numbers are stored as differences. A reference takes
//! some four bytes.

use std::fmt;

use ctx_model::{LineSpan, ModelError};
use rapidhash::RapidHashMap;
use rapidhash::v3::rapidhash_v3;
use serde::{Deserialize, Serialize};

use crate::{Import, Outline, Reference, ReferenceKind, Symbol, SymbolKind};

/// A store of outlines of texts that were parsed before.
pub trait Outlines: fmt::Debug + Send + Sync {
    /// The outline of the text at `path` whose BLAKE3 is `hash`, if it is stored.
    fn outline(&self, path: &str, hash: &[u8; 32]) -> Option<Outline>;

    /// The BLAKE3 of the text at `path` that was parsed; `None` if unknown.
    fn hash_of(&self, path: &str) -> Option<[u8; 32]> {
        let _ = path;
        None
    }
}

#[derive(Serialize, Deserialize)]
struct Packed<'t> {
    #[serde(borrow)]
    names: Vec<&'t str>,
    symbols: Vec<PackedSymbol>,
    imports: Vec<(u32, Lines)>,
    references: Vec<PackedReference>,
}

/// A span of lines: its start relative to an earlier line, and how many lines follow its first.
type Lines = (i32, u32);

#[derive(Serialize, Deserialize)]
struct PackedSymbol {
    /// The index in [`SymbolKind::ALL`].
    kind: u8,
    name: u32,
    qualified: Qualified,
    /// Relative to the start of the previous symbol.
    span: Lines,
    /// The start relative to that of the previous symbol, and the length.
    bytes: (u32, u32),
    /// Relative to the start of the symbol, like `body` and `doc`.
    signature: Lines,
    body: Option<Lines>,
    doc: Option<Lines>,
    lead: Option<Lines>,
    /// How many symbols back the parent is; 0 for none.
    parent: u32,
    is_title: bool,
}

#[derive(Serialize, Deserialize)]
enum Qualified {
    /// The name of the parent, this between the two, and the symbol's own name.
    Between(u32),
    Whole(u32),
}

#[derive(Serialize, Deserialize)]
struct PackedReference {
    name: u32,
    /// Four times the difference to the symbol of the previous reference (indices from 1, 0 for
    /// none), plus the index of the kind in [`USES`].
    within: i32,
    line: i32,
}

const USES: [ReferenceKind; 3] = [
    ReferenceKind::Call,
    ReferenceKind::Type,
    ReferenceKind::Extends,
];

/// What is packed in another way has another number.
const FORMAT: u8 = 4;
/// The bytes of a seal.
const SEAL: usize = 8;

/// The most bytes that the names of an unpacked outline take: these, and so many per packed byte.
/// An outline within the default [`Limits`](crate::Limits) takes less. A packed symbol has 15 bytes
/// or more, and names around it of at most 1 KiB; other names are not much longer than the text.
const COPIED: usize = 4 << 20;
const COPIED_PER_BYTE: usize = 128;

fn most_copied(packed: usize) -> usize {
    packed
        .saturating_mul(COPIED_PER_BYTE)
        .saturating_add(COPIED)
}

/// The checksum that precedes a packed outline of the text with this BLAKE3.
fn seal(packed: &[u8], hash: &[u8; 32]) -> [u8; SEAL] {
    rapidhash_v3(&[&[FORMAT], &hash[..], packed].concat()).to_le_bytes()
}

impl Outline {
    /// Like [`Outline::pack`], bound to the text whose BLAKE3 is `hash`: [`Outline::unseal`] needs
    /// the same hash.
    pub fn seal(&self, hash: &[u8; 32]) -> Option<Vec<u8>> {
        let packed = self.pack()?;
        Some([&seal(&packed, hash)[..], &packed].concat())
    }

    /// The seal of a text that has no packed outline; [`Outline::unseal`] returns none for it.
    pub fn bare_seal(hash: &[u8; 32]) -> Vec<u8> {
        seal(&[], hash).to_vec()
    }

    /// Whether [`Outline::seal`] or [`Outline::bare_seal`] returned `bytes` for the text whose
    /// BLAKE3 is `hash`. O(bytes).
    pub fn is_sealed(bytes: &[u8], hash: &[u8; 32]) -> bool {
        let sealed = bytes.split_at_checked(SEAL);
        sealed.is_some_and(|(its, packed)| *its == seal(packed, hash))
    }

    /// Reads what [`Outline::seal`] returned; `None` if it is the outline of another text, of
    /// another version, or damaged. Anyone can make a seal: it does not prove that this is the
    /// outline of the text, only what [`Outline::unpack`] ensures. O(bytes).
    pub fn unseal(bytes: &[u8], hash: &[u8; 32]) -> Option<Self> {
        Self::is_sealed(bytes, hash).then(|| Self::unpack(&bytes[SEAL..]))?
    }

    /// Encodes the outline compactly, for this version only; `None` if no grammar has read the
    /// text, if it is not [well formed](Outline::is_well_formed), for 2^29 symbols or more, and if
    /// [`Outline::unpack`] would refuse it for the length of its names, as it may if the text has
    /// several MiB. O(symbols + references).
    pub fn pack(&self) -> Option<Vec<u8>> {
        if self.fallback.is_some() || !self.is_well_formed() {
            return None;
        }
        let mut table = Table::default();
        let mut symbols = Vec::with_capacity(self.symbols.len());
        let (mut line, mut byte) = (0, 0);
        for (index, symbol) in self.symbols.iter().enumerate() {
            let start = symbol.span.start();
            let parent = symbol.parent.and_then(|it| self.symbols.get(it));
            symbols.push(PackedSymbol {
                kind: place_in(SymbolKind::ALL, &symbol.kind)?,
                name: table.number(&symbol.name)?,
                qualified: table.qualified(symbol, parent)?,
                span: lines_after(line, symbol.span),
                bytes: (
                    u32::try_from(symbol.bytes.start.checked_sub(byte)?).ok()?,
                    u32::try_from(symbol.bytes.len()).ok()?,
                ),
                signature: lines_after(start, symbol.signature),
                body: symbol.body.map(|it| lines_after(start, it)),
                doc: symbol.doc.map(|it| lines_after(start, it)),
                lead: symbol.lead.map(|it| lines_after(start, it)),
                parent: match symbol.parent {
                    Some(parent) => u32::try_from(index.checked_sub(parent)?).ok()?,
                    None => 0,
                },
                is_title: symbol.is_title,
            });
            (line, byte) = (start, symbol.bytes.start);
        }
        let mut imports = Vec::with_capacity(self.imports.len());
        let mut line = 0;
        for import in &self.imports {
            let module = table.number(&import.module)?;
            imports.push((module, lines_after(line, import.span)));
            line = import.span.start();
        }
        let mut references = Vec::with_capacity(self.references.len());
        let (mut line, mut within) = (0, 0);
        for reference in &self.references {
            let its = match reference.within {
                Some(symbol) => i32::try_from(symbol).ok()?.checked_add(1)?,
                None => 0,
            };
            let kind = place_in(&USES, &reference.kind)?;
            references.push(PackedReference {
                name: table.number(&reference.name)?,
                within: (its - within).checked_mul(4)?.checked_add(kind.into())?,
                line: after(line, reference.line),
            });
            (line, within) = (reference.line, its);
        }
        let packed = Packed {
            names: table.names,
            symbols,
            imports,
            references,
        };
        let packed = postcard::to_allocvec(&packed).ok()?;
        (self.bytes_of_names() <= most_copied(packed.len())).then_some(packed)
    }

    fn bytes_of_names(&self) -> usize {
        let symbols = self.symbols.iter();
        let symbols = symbols.map(|it| it.name.len() + it.qualified_name.len());
        let imports = self.imports.iter().map(|it| it.module.len());
        let references = self.references.iter().map(|it| it.name.len());
        symbols.chain(imports).chain(references).sum()
    }

    /// Reads what [`Outline::pack`] returned. Of other `bytes`, those are refused that do not hold
    /// a [well-formed](Outline::is_well_formed) outline and nothing else, or whose names would take
    /// more than 4 MiB and 128 bytes per byte. O(bytes).
    pub fn unpack(bytes: &[u8]) -> Option<Self> {
        let (packed, rest): (Packed<'_>, _) = postcard::take_from_bytes(bytes).ok()?;
        if !rest.is_empty() {
            return None;
        }
        let name = |number: u32| packed.names.get(number as usize).copied();
        let mut room = most_copied(bytes.len());
        let mut copy = |parts: &[&str]| {
            room = room.checked_sub(parts.iter().map(|it| it.len()).sum())?;
            Some(parts.concat())
        };
        let mut outline = Outline::default();
        let (mut line, mut byte) = (0_u32, 0_usize);
        for (index, symbol) in packed.symbols.into_iter().enumerate() {
            let its = name(symbol.name)?;
            let span = span_at(line, symbol.span).ok()?;
            let near = |lines| span_at(span.start(), lines);
            let start = byte.checked_add(symbol.bytes.0 as usize)?;
            let parent = match symbol.parent {
                0 => None,
                before => Some(index.checked_sub(before as usize)?),
            };
            let qualified_name = match symbol.qualified {
                Qualified::Whole(whole) => copy(&[name(whole)?])?,
                Qualified::Between(between) => {
                    let outer = &outline.symbols.get(parent?)?.qualified_name;
                    copy(&[outer, name(between)?, its])?
                }
            };
            outline.symbols.push(Symbol {
                kind: *SymbolKind::ALL.get(usize::from(symbol.kind))?,
                name: copy(&[its])?,
                qualified_name,
                span,
                bytes: start..start.checked_add(symbol.bytes.1 as usize)?,
                signature: near(symbol.signature).ok()?,
                body: symbol.body.map(near).transpose().ok()?,
                doc: symbol.doc.map(near).transpose().ok()?,
                lead: symbol.lead.map(near).transpose().ok()?,
                parent,
                is_title: symbol.is_title,
            });
            (line, byte) = (span.start(), start);
        }
        let mut line = 0;
        for (module, lines) in packed.imports {
            let span = span_at(line, lines).ok()?;
            let module = copy(&[name(module)?])?;
            outline.imports.push(Import { module, span });
            line = span.start();
        }
        let (mut line, mut within) = (0_u32, 0_i32);
        for reference in packed.references {
            within = within.checked_add(reference.within.div_euclid(4))?;
            line = line.wrapping_add_signed(reference.line);
            let symbol = match within {
                0 => None,
                number => Some(usize::try_from(number.checked_sub(1)?).ok()?),
            };
            outline.references.push(Reference {
                kind: *USES.get(reference.within.rem_euclid(4) as usize)?,
                name: copy(&[name(reference.name)?])?,
                line,
                within: symbol,
            });
        }
        outline.is_well_formed().then_some(outline)
    }
}

/// Names with their indices.
#[derive(Default)]
struct Table<'t> {
    names: Vec<&'t str>,
    numbers: RapidHashMap<&'t str, u32>,
}

impl<'t> Table<'t> {
    fn number(&mut self, name: &'t str) -> Option<u32> {
        let next = u32::try_from(self.names.len()).ok()?;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
        }
        Some(number)
    }

    fn qualified(&mut self, symbol: &'t Symbol, parent: Option<&Symbol>) -> Option<Qualified> {
        let whole = symbol.qualified_name.as_str();
        let between = parent.and_then(|parent| {
            let rest = whole.strip_prefix(parent.qualified_name.as_str())?;
            rest.strip_suffix(symbol.name.as_str())
        });
        Some(match between {
            Some(between) => Qualified::Between(self.number(between)?),
            None => Qualified::Whole(self.number(whole)?),
        })
    }
}

fn place_in<T: PartialEq>(all: &[T], one: &T) -> Option<u8> {
    let place = all.iter().position(|it| it == one)?;
    u8::try_from(place).ok()
}

/// The distance from `other` to `line`.
fn after(other: u32, line: u32) -> i32 {
    line.wrapping_sub(other).cast_signed()
}

fn lines_after(line: u32, span: LineSpan) -> Lines {
    (after(line, span.start()), span.end() - span.start())
}

fn span_at(line: u32, (after, more): Lines) -> Result<LineSpan, ModelError> {
    let start = line.wrapping_add_signed(after);
    LineSpan::new(start, start.saturating_add(more))
}
