//! `ctx relations`: what a symbol or a file refers to, and what refers to it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ctx::assemble::Cancel;
use ctx::syntax::{Direction, Edge, Graph};
use serde::{Serialize, Serializer};

use crate::args::RelationsArgs;
use crate::emit;
use crate::failure::Failure;
use crate::outline::outlines;
use crate::report::{Report, clean};
use crate::walk::shown;

/// Runs the verb.
///
/// # Errors
/// No file here has such a symbol, a path does not exist, or the user cancelled.
pub(crate) fn run(args: &RelationsArgs, report: Report, cancel: &Cancel) -> Result<(), Failure> {
    let files = outlines(&args.files, report, cancel)?;
    let graph = Graph::new(files.iter().map(|it| (it.path.as_str(), &it.outline)));
    let mut found = graph.find(&args.symbol);
    if found.is_empty() {
        // A path as the shell knows it; the paths here are relative to the folder.
        let path = shown(Path::new(&args.symbol));
        found = graph.find(&path);
        let below = |it: &PathBuf| {
            let below = Path::new(&path).strip_prefix(shown(it)).ok()?;
            Some(shown(below))
        };
        let paths = args.files.paths.iter().filter_map(below);
        found.extend(paths.flat_map(|it| graph.find(&it)));
        found.sort_unstable();
        found.dedup();
    }
    if found.is_empty() {
        return Err(
            Failure::input(format!("no symbol or file is called {:?}", args.symbol)).with_hint(
                "`ctx outline` lists symbols and paths; give the folders to search after the name",
            ),
        );
    }
    let symbols = Symbols {
        graph: &graph,
        ids: &found,
        args,
    };
    if args.json {
        return emit::json(&Wire { symbols });
    }
    for node in symbols.nodes() {
        if cancel.is_cancelled() {
            return Err(Failure::cancelled());
        }
        let mut text = String::new();
        node.write(&mut text);
        emit::text(&text)?;
    }
    Ok(())
}

#[derive(Serialize)]
struct Wire<'g> {
    symbols: Symbols<'g>,
}

/// The symbols of the name. Each may reach all symbols there are, so that only one at a time is in
/// memory with what it reaches.
struct Symbols<'g> {
    graph: &'g Graph<'g>,
    ids: &'g [usize],
    args: &'g RelationsArgs,
}

impl Symbols<'_> {
    fn nodes(&self) -> impl Iterator<Item = NodeWire> {
        let ids = self.ids.iter();
        ids.map(|&id| NodeWire::of(self.graph, id, self.args))
    }
}

impl Serialize for Symbols<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.nodes())
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeWire {
    #[serde(flatten)]
    place: PlaceWire,
    outgoing: Vec<EdgeWire>,
    incoming: Vec<EdgeWire>,
    /// The symbols within the requested depth, with their distances.
    neighbourhood: Vec<NearWire>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlaceWire {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<u32>,
}

#[derive(Serialize)]
struct EdgeWire {
    relation: &'static str,
    weight: f64,
    #[serde(flatten)]
    place: PlaceWire,
}

#[derive(Serialize)]
struct NearWire {
    distance: usize,
    #[serde(flatten)]
    place: PlaceWire,
}

impl PlaceWire {
    fn of(graph: &Graph<'_>, id: usize) -> Self {
        let node = &graph.nodes()[id];
        PlaceWire {
            path: node.path.to_owned(),
            symbol: node.symbol.map(|(name, _)| name.to_owned()),
            kind: node.symbol.map(|(_, kind)| kind.as_str()),
            start_line: node.span.map(ctx::model::LineSpan::start),
            end_line: node.span.map(ctx::model::LineSpan::end),
        }
    }

    fn shown(&self) -> String {
        let path = clean(&self.path);
        match (&self.symbol, self.start_line) {
            (Some(symbol), Some(line)) => format!("{} ({path}:{line})", clean(symbol)),
            _ => path.into_owned(),
        }
    }
}

impl NodeWire {
    fn of(graph: &Graph<'_>, id: usize, args: &RelationsArgs) -> Self {
        let edge = |edge: &Edge, other: usize| EdgeWire {
            relation: edge.kind.as_str(),
            weight: edge.weight,
            place: PlaceWire::of(graph, other),
        };
        let (out, back) = match args.direction {
            Direction::Outgoing => (graph.outgoing(id), &[][..]),
            Direction::Incoming => (&[][..], graph.incoming(id)),
            Direction::Both => (graph.outgoing(id), graph.incoming(id)),
        };
        let near = graph.neighbourhood(id, args.depth, args.direction);
        NodeWire {
            place: PlaceWire::of(graph, id),
            outgoing: out.iter().map(|it| edge(it, it.to)).collect(),
            incoming: back.iter().map(|it| edge(it, it.from)).collect(),
            neighbourhood: near
                .into_iter()
                .map(|(id, distance)| NearWire {
                    distance,
                    place: PlaceWire::of(graph, id),
                })
                .collect(),
        }
    }

    fn write(&self, text: &mut String) {
        let kind = self.place.kind.unwrap_or("file");
        let _ = writeln!(text, "{kind} {}", self.place.shown());
        for (arrow, edges) in [("→", &self.outgoing), ("←", &self.incoming)] {
            for edge in edges {
                // An uncertain relation shows how certain it is.
                let sure = if edge.weight < 1.0 {
                    format!(" ({:.0} %)", edge.weight * 100.0)
                } else {
                    String::new()
                };
                let _ = writeln!(
                    text,
                    "  {arrow} {} {}{sure}",
                    edge.relation,
                    edge.place.shown()
                );
            }
        }
        for near in self.neighbourhood.iter().filter(|near| near.distance > 1) {
            let _ = writeln!(text, "  {} steps: {}", near.distance, near.place.shown());
        }
    }
}
