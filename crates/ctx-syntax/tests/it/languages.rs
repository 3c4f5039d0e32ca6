//! A sample of each language: its skeleton holds names, signatures and doc comments, and no body.

use ctx_model::RenditionKind;
use ctx_syntax::{Limits, Source, SymbolKind, lines, pieces};

/// What stands in every body, and must not be shown.
const BODY: &str = "hidden";

pub(crate) struct Sample {
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
    /// Qualified names and what they are, in order.
    symbols: &'static [(&'static str, SymbolKind)],
    /// What the skeleton shows.
    shown: &'static [&'static str],
    imports: &'static [&'static str],
}

use SymbolKind::{
    Class, Constant, Enum, Field, Function, Impl, Interface, Method, Module, Section, Struct, Type,
};

pub(crate) const SAMPLES: &[Sample] = &[
    Sample {
        path: "a.rs",
        text: "use std::fmt;\n\n/// A point.\n#[derive(Debug)]\npub struct Point {\n    pub x: f64,\n}\n\nimpl Point {\n    /// Makes one.\n    pub fn new(x: f64) -> Self {\n        let hidden = x;\n        Point { x: hidden }\n    }\n}\n\ntrait Shape {\n    fn area(&self) -> f64;\n}\n",
        symbols: &[
            ("Point", Struct),
            ("Point::x", Field),
            ("Point", Impl),
            ("Point::new", Method),
            ("Shape", Interface),
            ("Shape::area", Method),
        ],
        shown: &[
            "/// A point.",
            "#[derive(Debug)]",
            "pub x: f64,",
            "/// Makes one.",
            "pub fn new(x: f64) -> Self {",
            "        // … 2 lines left out",
            "fn area(&self)",
        ],
        imports: &["std::fmt"],
    },
    Sample {
        path: "a.py",
        text: "import os\nfrom pathlib import Path\n\nLIMIT = 3\n\nclass Point(Base):\n    \"\"\"A point.\"\"\"\n\n    size = 1\n\n    def __init__(self, x):\n        \"\"\"Makes one.\"\"\"\n        self.hidden = x\n        self.y = 2\n\n    @property\n    def area(self):\n        return self.hidden\n\ndef free(a,\n         b):\n    hidden = a\n",
        symbols: &[
            ("LIMIT", Constant),
            ("Point", Class),
            ("Point.size", Field),
            ("Point.__init__", Method),
            ("Point.area", Method),
            ("free", Function),
        ],
        shown: &[
            "class Point(Base):",
            "\"\"\"A point.\"\"\"",
            "size = 1",
            "def __init__(self, x):",
            "\"\"\"Makes one.\"\"\"",
            "        # … 2 lines left out",
            "@property",
            "def area(self):",
            "         b):",
        ],
        imports: &["os", "pathlib"],
    },
    Sample {
        path: "a.js",
        text: "import { x } from './lib';\n\n/** A point. */\nclass Point extends Base {\n  size = 1;\n  /** Makes one. */\n  constructor(x) {\n    this.x = hidden(x);\n  }\n}\n\nconst twice = (n) => {\n  return hidden(n);\n};\n\nfunction free(a) {\n  hidden(a);\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.size", Field),
            ("Point.constructor", Method),
            ("twice", Function),
            ("free", Function),
        ],
        shown: &[
            "/** A point. */",
            "class Point extends Base {",
            "size = 1;",
            "/** Makes one. */",
            "constructor(x) {",
            "const twice = (n) => {",
            "function free(a) {",
        ],
        imports: &["./lib"],
    },
    Sample {
        path: "a.ts",
        text: "import { x } from \"./lib\";\n\n/** A shape. */\nexport interface Shape {\n  area(): number;\n}\n\nexport class Point implements Shape {\n  private x: number;\n  /** Its area. */\n  area(): number {\n    return hidden;\n  }\n}\n\nexport type Id = string;\n",
        symbols: &[
            ("Shape", Interface),
            ("Shape.area", Method),
            ("Point", Class),
            ("Point.x", Field),
            ("Point.area", Method),
            ("Id", Type),
        ],
        shown: &[
            "/** A shape. */",
            "export interface Shape {",
            "area(): number;",
            "private x: number;",
            "/** Its area. */",
            "export type Id",
        ],
        imports: &["./lib"],
    },
    Sample {
        path: "a.tsx",
        text: "import React from 'react';\n\nexport function App(props: Props) {\n  return <p>hidden</p>;\n}\n",
        symbols: &[("App", Function)],
        shown: &["export function App(props: Props) {"],
        imports: &["react"],
    },
    Sample {
        path: "a.go",
        text: "package a\n\nimport \"fmt\"\n\n// Point is one.\ntype Point struct {\n\tX int\n}\n\n// Area of it.\nfunc (p Point) Area() int {\n\thidden := p.X\n\treturn hidden\n}\n\nfunc free() {\n\tfmt.Println(\"hidden\")\n}\n",
        symbols: &[
            ("Point", Struct),
            ("Point.X", Field),
            ("Point.Area", Method),
            ("free", Function),
        ],
        shown: &[
            "// Point is one.",
            "\tX int",
            "// Area of it.",
            "func (p Point) Area() int {",
            "func free() {",
        ],
        imports: &["fmt"],
    },
    Sample {
        path: "A.java",
        text: "import java.util.List;\n\n/** A point. */\npublic class Point extends Base implements Shape {\n  private final int x;\n\n  /** Makes one. */\n  public Point(int x) {\n    this.x = hidden(x);\n  }\n\n  @Override\n  public int area() {\n    return hidden;\n  }\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.x", Field),
            ("Point.Point", Method),
            ("Point.area", Method),
        ],
        shown: &[
            "/** A point. */",
            "private final int x;",
            "/** Makes one. */",
            "public Point(int x) {",
            "@Override",
            "public int area() {",
        ],
        imports: &["java.util.List"],
    },
    Sample {
        path: "a.c",
        text: "#include <stdio.h>\n\n#define LIMIT 3\n\n/* A point. */\nstruct point {\n  int x;\n};\n\n/* Its area. */\nint area(struct point *p)\n{\n  int hidden = p->x;\n  return hidden;\n}\n",
        symbols: &[
            ("LIMIT", Constant),
            ("point", Struct),
            ("point.x", Field),
            ("area", Function),
        ],
        shown: &[
            "#define LIMIT 3",
            "/* A point. */",
            "int x;",
            "/* Its area. */",
            "int area(struct point *p)",
        ],
        imports: &["stdio.h"],
    },
    Sample {
        path: "a.cpp",
        text: "#include \"b.h\"\n\nnamespace geo {\n\n// A point.\nclass Point : public Base {\n public:\n  explicit Point(int x) {\n    x_ = hidden(x);\n  }\n  int area() const;\n\n private:\n  int x_;\n};\n\nint Point::area() const {\n  return hidden;\n}\n\n}\n",
        symbols: &[
            ("geo", Module),
            ("geo::Point", Class),
            ("geo::Point::Point", Method),
            ("geo::Point::area", Method),
            ("geo::Point::x_", Field),
            ("geo::Point::area", Function),
        ],
        shown: &[
            "// A point.",
            "explicit Point(int x) {",
            "int area() const;",
            "int x_;",
            "int Point::area() const {",
        ],
        imports: &["b.h"],
    },
    Sample {
        path: "A.cs",
        text: "using System;\n\n/// <summary>A point.</summary>\npublic class Point : Base\n{\n    public int X { get; set; }\n\n    /// <summary>Makes one.</summary>\n    public Point(int x)\n    {\n        X = hidden(x);\n    }\n\n    public int Area()\n    {\n        return hidden;\n    }\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.X", Field),
            ("Point.Point", Method),
            ("Point.Area", Method),
        ],
        shown: &[
            "A point.",
            "public int X { get; set; }",
            "Makes one.",
            "public Point(int x)",
            "public int Area()",
        ],
        imports: &["System"],
    },
    Sample {
        path: "a.rb",
        text: "require 'set'\n\n# A point.\nclass Point < Base\n  LIMIT = 3\n\n  # Makes one.\n  def initialize(x)\n    @x = hidden(x)\n  end\n\n  def self.origin\n    hidden\n  end\nend\n",
        symbols: &[
            ("Point", Class),
            ("Point::LIMIT", Constant),
            ("Point::initialize", Method),
            ("Point::origin", Method),
        ],
        shown: &[
            "# A point.",
            "LIMIT = 3",
            "# Makes one.",
            "def initialize(x)",
            "def self.origin",
        ],
        imports: &["set"],
    },
    Sample {
        path: "a.php",
        text: "<?php\nuse App\\Base;\n\n/** A point. */\nclass Point extends Base\n{\n    private int $x;\n\n    /** Makes one. */\n    public function __construct(int $x)\n    {\n        $this->x = hidden($x);\n    }\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point\\$x", Field),
            ("Point\\__construct", Method),
        ],
        shown: &[
            "/** A point. */",
            "private int $x;",
            "/** Makes one. */",
            "public function __construct(int $x)",
        ],
        imports: &["App\\Base"],
    },
    Sample {
        path: "a.kt",
        text: "import kotlin.math.sqrt\n\n/** A point. */\nclass Point(val x: Int) : Base() {\n    val size = 1\n\n    /** Its area. */\n    fun area(): Int {\n        return hidden\n    }\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.x", Field),
            ("Point.size", Field),
            ("Point.area", Method),
        ],
        shown: &[
            "/** A point. */",
            "val size = 1",
            "/** Its area. */",
            "fun area(): Int {",
        ],
        imports: &["kotlin.math.sqrt"],
    },
    Sample {
        path: "a.swift",
        text: "import Foundation\n\n/// A point.\nclass Point: Base {\n    var x: Int\n\n    /// Makes one.\n    init(x: Int) {\n        self.x = hidden(x)\n    }\n\n    func area() -> Int {\n        return hidden\n    }\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.x", Field),
            ("Point.init", Method),
            ("Point.area", Method),
        ],
        shown: &[
            "/// A point.",
            "var x: Int",
            "/// Makes one.",
            "init(x: Int) {",
            "func area() -> Int {",
        ],
        imports: &["Foundation"],
    },
    Sample {
        path: "a.scala",
        text: "import scala.math\n\n/** A point. */\nclass Point(x: Int) extends Base {\n  val size = 1\n\n  /** Its area. */\n  def area: Int = {\n    hidden(x)\n  }\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.size", Field),
            ("Point.area", Method),
        ],
        shown: &[
            "/** A point. */",
            "val size = 1",
            "/** Its area. */",
            "def area: Int = {",
        ],
        imports: &["scala"],
    },
    Sample {
        path: "a.sh",
        text: "#!/bin/bash\nLIMIT=3\n\n# Says hello.\nhello() {\n  echo hidden\n}\n",
        symbols: &[("LIMIT", Constant), ("hello", Function)],
        shown: &["LIMIT=3", "# Says hello.", "hello() {"],
        imports: &[],
    },
    Sample {
        path: "a.lua",
        text: "local limit = 3\n\n-- Says hello.\nfunction hello(name)\n  print(hidden)\nend\n",
        symbols: &[("limit", Constant), ("hello", Function)],
        shown: &["local limit = 3", "-- Says hello.", "function hello(name)"],
        imports: &[],
    },
    Sample {
        path: "a.ex",
        text: "defmodule Point do\n  alias Geo.Base\n\n  # Its area.\n  def area(x) do\n    hidden(x)\n  end\nend\n",
        symbols: &[("Point", Module), ("Point.area", Function)],
        shown: &["defmodule Point do", "# Its area.", "def area(x) do"],
        imports: &["Geo.Base"],
    },
    Sample {
        path: "a.dart",
        text: "import 'dart:math';\n\n/// A point.\nclass Point extends Base {\n  int x = 1;\n\n  /// Its area.\n  int area() {\n    return hidden;\n  }\n}\n\nvoid free() {\n  hidden();\n}\n",
        symbols: &[
            ("Point", Class),
            ("Point.x", Field),
            ("Point.area", Method),
            ("free", Function),
        ],
        shown: &[
            "/// A point.",
            "int x = 1;",
            "/// Its area.",
            "int area() {",
            "void free() {",
        ],
        imports: &["dart:math"],
    },
    Sample {
        path: "a.zig",
        text: "const std = @import(\"std\");\n\n/// Its area.\npub fn area(x: i32) i32 {\n    const hidden = x;\n    return hidden;\n}\n",
        symbols: &[("std", Constant), ("area", Function)],
        shown: &["/// Its area.", "pub fn area(x: i32) i32 {"],
        imports: &[],
    },
    Sample {
        path: "a.hs",
        text: "module Geo where\n\nimport qualified Data.Map as Map\n\n-- | A point.\ndata Point = Point\n  { px :: Int -- ^ Across.\n  , py :: Int\n  }\n\n-- | What has an area.\nclass Shape a where\n  -- | Its area.\n  area :: a -> Int\n  area x =\n    hidden x\n\ninstance Shape Point where\n  area p =\n    let hidden = px p\n     in hidden\n\n-- | Counts.\ncount\n  :: Ord a\n  => [a]\n  -> Int\ncount [] = 0\ncount (x : rest)\n  | x > y = hidden\n  | otherwise =\n      hidden + 1\n  where\n    hidden = count rest\n\n(<+>) :: Int -> Int -> Int\na <+> b =\n  hidden a b\n\nmain :: IO ()\nmain = do\n  hidden <- getLine\n  putStrLn hidden\n",
        symbols: &[
            ("Point", Enum),
            ("Point.Point", Field),
            ("Point.px", Field),
            ("Point.py", Field),
            ("Shape", Interface),
            ("Shape.area", Method),
            ("Shape.area", Method),
            ("Point", Impl),
            ("Point.area", Method),
            ("count", Function),
            ("count", Function),
            ("count", Function),
            ("<+>", Function),
            ("<+>", Function),
            ("main", Function),
            ("main", Function),
        ],
        shown: &[
            "-- | A point.",
            "  { px :: Int -- ^ Across.",
            "-- | What has an area.",
            "class Shape a where",
            "instance Shape Point where",
            "  area p =",
            "    -- … 2 lines left out",
            "-- | Counts.",
            "  => [a]",
            "count [] = 0",
            "count (x : rest)",
            "a <+> b =",
            "main = do",
        ],
        imports: &["Data.Map"],
    },
    Sample {
        path: "a.ml",
        text: "open Printf\n\n(** A point. *)\ntype point = {\n  x : int;\n}\n\ntype color =\n  | Red\n\nexception Bad of string\n\n(** Its area. *)\nlet area (p : point)\n    (scale : int) : int =\n  let hidden = p.x in\n  hidden * scale\n\nlet rec even n =\n  hidden n\nand odd n =\n  hidden n\n\nlet table =\n  hidden 3\n\nmodule type SHAPE = sig\n  (** Its area. *)\n  val area : t -> int\nend\n\n(** Stacks. *)\nmodule Stack = struct\n  (** Pushes. *)\n  let push = fun x ->\n    hidden x\nend\n\n(** A counter. *)\nclass counter start = object (self)\n  val mutable n = start\n\n  (** Counts. *)\n  method incr =\n    hidden n\nend\n\nexternal now : unit -> float = \"unix_time\"\n",
        symbols: &[
            ("point", Struct),
            ("point.x", Field),
            ("color", Enum),
            ("color.Red", Field),
            ("Bad", Type),
            ("area", Function),
            ("even", Function),
            ("odd", Function),
            ("table", Constant),
            ("SHAPE", Interface),
            ("SHAPE.area", Method),
            ("Stack", Module),
            ("Stack.push", Function),
            ("counter", Class),
            ("counter.n", Field),
            ("counter.incr", Method),
            ("now", Function),
        ],
        shown: &[
            "(** A point. *)",
            "  x : int;",
            "exception Bad of string",
            "(** Its area. *)",
            "    (scale : int) : int =",
            "  (* … 2 lines left out *)",
            "let rec even n =",
            "and odd n =",
            "let table =",
            "  val area : t -> int",
            "(** Pushes. *)",
            "  let push = fun x ->",
            "(** Counts. *)",
            "  method incr =",
            "external now : unit -> float",
        ],
        imports: &["Printf"],
    },
    Sample {
        path: "a.sql",
        text: "-- Who may log in.\nCREATE TABLE users (\n  id INT PRIMARY KEY,\n  -- As it is shown.\n  name TEXT NOT NULL\n);\n\nCREATE INDEX users_name ON users (name);\n\nCREATE VIEW admins AS\nSELECT id\nFROM users\nWHERE hidden = 1;\n\nCREATE TYPE mood AS ENUM ('sad', 'ok');\n\n-- Adds one.\nCREATE FUNCTION add_one(x INT) RETURNS INT AS $$\nBEGIN\n  RETURN hidden(x);\nEND;\n$$ LANGUAGE plpgsql;\n\nCREATE TRIGGER counted BEFORE UPDATE ON users\nFOR EACH ROW EXECUTE FUNCTION add_one();\n",
        symbols: &[
            ("users", Struct),
            ("users.id", Field),
            ("users.name", Field),
            ("users_name", Field),
            ("admins", Struct),
            ("mood", Type),
            ("add_one", Function),
            ("counted", Function),
        ],
        shown: &[
            "-- Who may log in.",
            "CREATE TABLE users (",
            "-- As it is shown.",
            "name TEXT NOT NULL",
            "CREATE INDEX users_name",
            "CREATE VIEW admins AS",
            "-- Adds one.",
            "CREATE FUNCTION add_one(x INT) RETURNS INT AS $$",
            "$$ LANGUAGE plpgsql;",
            "FOR EACH ROW EXECUTE FUNCTION add_one();",
        ],
        imports: &[],
    },
    Sample {
        path: "a.json",
        text: "{\n  \"name\": \"points\",\n  \"scripts\": {\n    \"build\": \"tsc\",\n    \"nested\": {\n      \"hidden\": 1\n    }\n  },\n  \"files\": [\n    \"hidden\"\n  ]\n}\n",
        symbols: &[
            ("name", Field),
            ("scripts", Section),
            ("scripts.build", Field),
            ("scripts.nested", Field),
            ("files", Field),
        ],
        shown: &[
            "\"name\": \"points\",",
            "    \"build\": \"tsc\",",
            "    \"nested\": {\n      // … 1 line left out\n    }",
            "  \"files\": [\n    // … 1 line left out\n  ]",
        ],
        imports: &[],
    },
    Sample {
        path: "a.yaml",
        text: "# Who we are.\nname: points\non:\n  push:\n    branches:\n      - hidden\n# What runs.\njobs:\n  # Builds.\n  build:\n    runs-on: hidden\n    steps:\n      - run: |\n          cargo test\npaths:\n  - hidden\n",
        symbols: &[
            ("name", Field),
            ("on", Section),
            ("on.push", Field),
            ("jobs", Section),
            ("jobs.build", Field),
            ("paths", Field),
        ],
        shown: &[
            "# Who we are.\nname: points",
            "on:\n  push:\n    # … 2 lines left out",
            "# What runs.\njobs:",
            "  # Builds.\n  build:",
            "paths:\n  # … 1 line left out",
        ],
        imports: &[],
    },
    Sample {
        path: "a.tf",
        text: "# The network.\nresource \"aws_vpc\" \"main\" {\n  name = hidden\n  ingress {\n    port = hidden\n  }\n}\n\nvariable \"region\" {\n  default = hidden\n}\n\nlocals {\n  # Of all.\n  tags = {\n    a = hidden\n  }\n}\n\nmodule \"net\" {\n  source = \"./net\"\n}\n",
        symbols: &[
            ("aws_vpc.main", Struct),
            ("var.region", Constant),
            ("local.tags", Constant),
            ("module.net", Module),
        ],
        shown: &[
            "# The network.\nresource \"aws_vpc\" \"main\" {\n  # … 4 lines left out\n}",
            "variable \"region\" {",
            "locals {",
            "# Of all.\n  tags = {",
        ],
        imports: &["./net"],
    },
    Sample {
        path: "a.toml",
        text: "# Who we are.\n[package]\nname = \"points\"\nkeywords = [\n  \"hidden\",\n]\n\n[dependencies]\n# For data.\nserde = { version = \"1\", features = [\n  \"hidden\",\n] }\n\n[[bin]]\nname = \"run\"\n",
        symbols: &[
            ("package", Section),
            ("package.name", Field),
            ("package.keywords", Field),
            ("dependencies", Section),
            ("dependencies.serde", Field),
            ("dependencies.serde.version", Field),
            ("dependencies.serde.features", Field),
            ("bin", Section),
            ("bin.name", Field),
        ],
        shown: &[
            "# Who we are.\n[package]",
            "keywords = [\n  # … 1 line left out\n]",
            "# For data.\nserde = { version = \"1\", features = [",
            "] }",
            "[[bin]]",
        ],
        imports: &[],
    },
    Sample {
        path: "a.css",
        text: "@import \"base.css\";\n\n:root {\n  --accent: red;\n}\n\n/* A card. */\n.card {\n  color: red;\n}\n\n@media (max-width: 600px) {\n  /* Small. */\n  .card {\n    color: blue;\n  }\n}\n\n@keyframes fade {\n  from { opacity: hidden; }\n  to { opacity: 1; }\n}\n",
        symbols: &[
            (":root", Section),
            (":root.--accent", Field),
            (".card", Section),
            (".card.color", Field),
            ("@media", Section),
            ("@media..card", Section),
            ("@media..card.color", Field),
            ("fade", Section),
            ("fade.opacity", Field),
            ("fade.opacity", Field),
        ],
        shown: &[
            "  --accent: red;",
            "/* A card. */",
            "  color: red;",
            "/* Small. */",
            "    color: blue;",
            "@keyframes fade {",
            "  /* … 2 lines left out */",
        ],
        imports: &["base.css"],
    },
    Sample {
        path: "a.html",
        text: "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<style>\np { color: hidden; }\n</style>\n</head>\n<body id=\"top\">\n<!-- The menu. -->\n<nav class=\"menu\"\n     title=\"Where to go\">\n  Pages, that is:\n</nav>\n  <script>\n    hidden();\n  </script>\n</body>\n</html>\n",
        symbols: &[
            ("html", Section),
            ("html.style", Section),
            ("html.body", Section),
            ("html.body.nav", Section),
            ("html.body.script", Section),
        ],
        shown: &[
            "<style>\n<!-- … 1 line left out -->\n</style>",
            "<!-- The menu. -->",
            "     title=\"Where to go\">",
            "  <script>\n    <!-- … 1 line left out -->\n  </script>",
        ],
        imports: &[],
    },
    Sample {
        path: "a.md",
        text: "# Points\n\nA guide to:\n\n- hidden points.\n\n## Use\n\nCall it,\nwith care.\n\n```rust\nfn hidden() {}\n```\n\nText that is hidden.\n\nOlder\n-----\n\nOnly this.\n",
        symbols: &[
            ("Points", Section),
            ("Points > Use", Section),
            ("Points > Older", Section),
        ],
        shown: &[
            "# Points\n\nA guide to:\n",
            "## Use\n\nCall it,\nwith care.\n",
            "Older\n-----\n\nOnly this.\n",
        ],
        imports: &[],
    },
];

#[test]
fn skeletons_show_declarations_and_no_bodies() {
    let mut wrong = Vec::new();
    for sample in SAMPLES {
        if let Err(why) = check(sample) {
            wrong.push(format!("{}: {why}", sample.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

fn check(sample: &Sample) -> Result<(), String> {
    let source = Source::new(sample.path, sample.text, &Limits::default());
    let outline = source.outline();
    if let Some(fallback) = outline.fallback {
        return Err(fallback.to_string());
    }
    let symbols: Vec<(&str, SymbolKind)> = outline
        .symbols
        .iter()
        .map(|symbol| (symbol.qualified_name.as_str(), symbol.kind))
        .collect();
    if symbols != sample.symbols {
        return Err(format!("{symbols:?}"));
    }
    let imports: Vec<&str> = outline
        .imports
        .iter()
        .map(|it| it.module.as_str())
        .collect();
    if imports != sample.imports {
        return Err(format!("{imports:?}"));
    }
    let skeleton = source
        .render(source.whole(), RenditionKind::Skeleton, &[])
        .text();
    for shown in sample.shown {
        if !skeleton.contains(shown) {
            return Err(format!("no {shown:?} in\n{skeleton}"));
        }
    }
    if skeleton.contains(BODY) {
        return Err(format!("a body in\n{skeleton}"));
    }
    crate::is_nested(sample.text, &source, source.whole(), &[]);
    // Each symbol by itself: its signature shows its name, and no body.
    for symbol in &outline.symbols {
        let span = symbol.span_with_doc();
        crate::is_nested(sample.text, &source, span, &[]);
        let signature = source.render(span, RenditionKind::Signature, &[]).text();
        // Terraform's have before them what is not written so.
        let name = match symbol.name.rsplit_once('.') {
            Some((_, label)) if sample.path == "a.tf" => label,
            _ => symbol.name.as_str(),
        };
        if !signature.contains(name) || (symbol.body.is_some() && signature.contains(BODY)) {
            return Err(format!("{name}: {signature}"));
        }
    }
    Ok(())
}

#[track_caller]
fn outlined(path: &str, text: &str, expected: &[&str]) {
    let source = Source::new(path, text, &Limits::default());
    let found: Vec<&str> = source
        .outline()
        .symbols
        .iter()
        .map(|symbol| symbol.qualified_name.as_str())
        .collect();
    assert_eq!(found, expected, "{path}: {:?}", source.outline().fallback);
    crate::is_nested(text, &source, source.whole(), &[]);
}

#[test]
fn data_and_documents_have_outlines_too() {
    outlined(
        "a.json",
        "{\n  \"a\": {\n    \"b\": 1\n  },\n  \"c\": [1]\n}\n",
        &["a", "a.b", "c"],
    );
    outlined("a.yaml", "a:\n  b: 1\nc: 2\n", &["a", "a.b", "c"]);
    outlined(
        "a.toml",
        "[package]\nname = \"x\"\n\n[lib]\n",
        &["package", "package.name", "lib"],
    );
    outlined("a.css", ".a { color: red; }\n", &[".a", ".a.color"]);
    outlined(
        "a.sql",
        "CREATE TABLE users (\n  id INT\n);\n",
        &["users", "users.id"],
    );
    outlined(
        "a.html",
        "<html>\n<body id=\"b\">\n<script>x</script>\n</body>\n</html>\n",
        &["body", "body.script"],
    );
    outlined(
        "a.hs",
        "module A where\n\nimport Data.List\n\n-- | Doubles.\ntwice :: Int -> Int\ntwice x = x + x\n",
        &["twice", "twice"],
    );
    outlined(
        "a.ml",
        "open Printf\n\nlet twice x = x + x\n\nmodule M = struct\n  let y = 1\nend\n",
        &["twice", "M", "M.y"],
    );
    outlined(
        "a.md",
        "# One\n\ntext\n\n## Two\n\nmore\n\n# Three\n",
        &["One", "One > Two", "Three"],
    );
}

fn sample(path: &str) -> &'static Sample {
    let mut samples = SAMPLES.iter();
    samples.find(|it| it.path == path).unwrap()
}

/// The signature rendition of all of the sample at `path`.
#[track_caller]
fn sample_signature(path: &str, expected: &str) {
    signature(path, sample(path).text, expected);
}

#[track_caller]
fn signature(path: &str, text: &str, expected: &str) {
    shows(path, text, RenditionKind::Signature, expected);
}

#[track_caller]
fn shows(path: &str, text: &str, kind: RenditionKind, expected: &str) {
    let source = Source::new(path, text, &Limits::default());
    assert_eq!(source.render(source.whole(), kind, &[]).text(), expected);
    crate::is_nested(text, &source, source.whole(), &[]);
}

#[test]
fn functions_and_types_of_functional_languages_by_their_signatures() {
    sample_signature(
        "a.hs",
        "-- … 4 lines left out\n-- | A point.\ndata Point = Point\n  -- … 4 lines left out\n-- | What has an area.\nclass Shape a where\n  -- … 5 lines left out\ninstance Shape Point where\n  -- … 4 lines left out\n-- | Counts.\ncount\n  :: Ord a\n  => [a]\n  -> Int\ncount [] = 0\ncount (x : rest)\n  -- … 6 lines left out\n(<+>) :: Int -> Int -> Int\na <+> b =\n  -- … 2 lines left out\nmain :: IO ()\nmain = do\n  -- … 2 lines left out\n",
    );
    sample_signature(
        "a.ml",
        "(* … 2 lines left out *)\n(** A point. *)\ntype point = {\n  (* … 3 lines left out *)\ntype color =\n  (* … 2 lines left out *)\nexception Bad of string\n(* … 1 line left out *)\n(** Its area. *)\nlet area (p : point)\n    (scale : int) : int =\n  (* … 3 lines left out *)\nlet rec even n =\n  (* … 1 line left out *)\nand odd n =\n  (* … 2 lines left out *)\nlet table =\n  (* … 2 lines left out *)\nmodule type SHAPE = sig\n  (* … 4 lines left out *)\n(** Stacks. *)\nmodule Stack = struct\n  (* … 5 lines left out *)\n(** A counter. *)\nclass counter start = object (self)\n  (* … 7 lines left out *)\nexternal now : unit -> float = \"unix_time\"\n",
    );
}

#[test]
fn tables_and_functions_of_a_database_by_their_signatures() {
    sample_signature(
        "a.sql",
        "-- Who may log in.\nCREATE TABLE users (\n  -- … 5 lines left out\nCREATE INDEX users_name ON users (name);\n-- … 1 line left out\nCREATE VIEW admins AS\n-- … 4 lines left out\nCREATE TYPE mood AS ENUM ('sad', 'ok');\n-- … 1 line left out\n-- Adds one.\nCREATE FUNCTION add_one(x INT) RETURNS INT AS $$\n-- … 5 lines left out\nCREATE TRIGGER counted BEFORE UPDATE ON users\nFOR EACH ROW EXECUTE FUNCTION add_one();\n",
    );
}

#[test]
fn data_by_its_outermost_keys() {
    sample_signature(
        "a.json",
        "// … 1 line left out\n  \"name\": \"points\",\n  \"scripts\": {\n    // … 5 lines left out\n  \"files\": [\n    // … 3 lines left out\n",
    );
    sample_signature(
        "a.yaml",
        "# Who we are.\nname: points\non:\n  # … 3 lines left out\n# What runs.\njobs:\n  # … 6 lines left out\npaths:\n  # … 1 line left out\n",
    );
    sample_signature(
        "a.toml",
        "# Who we are.\n[package]\n# … 5 lines left out\n[dependencies]\n# … 5 lines left out\n[[bin]]\n# … 1 line left out\n",
    );
    sample_signature(
        "a.css",
        "/* … 2 lines left out */\n:root {\n  /* … 3 lines left out */\n/* A card. */\n.card {\n  /* … 3 lines left out */\n@media (max-width: 600px) {\n  /* Small. */\n  .card {\n    /* … 4 lines left out */\n@keyframes fade {\n  /* … 3 lines left out */\n",
    );
    sample_signature(
        "a.html",
        "<!-- … 1 line left out -->\n<html lang=\"en\">\n<!-- … 1 line left out -->\n<style>\n<!-- … 3 lines left out -->\n<body id=\"top\">\n<!-- The menu. -->\n<nav class=\"menu\"\n     title=\"Where to go\">\n  <!-- … 2 lines left out -->\n  <script>\n    <!-- … 4 lines left out -->\n",
    );
}

#[test]
fn a_signature_has_all_lines_of_a_head_and_no_more() {
    signature(
        "a.css",
        ".card,\n.tile {\n  color: red;\n}\n",
        ".card,\n.tile {\n  /* … 2 lines left out */\n",
    );
    signature(
        "a.html",
        "<p class=\"a\"\n   id=\"b\">\nOne,\n</p>\n",
        "<p class=\"a\"\n   id=\"b\">\n<!-- … 2 lines left out -->\n",
    );
    signature(
        "a.toml",
        "[a]\nb = [\n  1,\n]\n",
        "[a]\n# … 3 lines left out\n",
    );
}

#[test]
fn an_operator_has_one_name_however_it_is_written() {
    outlined(
        "a.hs",
        "(<+>), plus :: Int -> Int -> Int\n(<+>) a b = a\na <+> b = b\na `plus` b = b\n",
        &["<+>", "plus", "<+>", "<+>", "plus"],
    );
    outlined("a.ml", "let ( >>= ) x f = f x\n", &[">>="]);
}

#[test]
fn names_that_are_declared_together_stand_side_by_side() {
    outlined(
        "a.hs",
        "data P = P { x, y :: Int }\n",
        &["P", "P.P", "P.x", "P.y"],
    );
    outlined(
        "a.go",
        "package a\n\ntype P struct {\n\tX, Y int\n}\n",
        &["P", "P.X", "P.Y"],
    );
    outlined("a.py", "A, B = 1, 2\n", &["A", "B"]);
    outlined("a.rb", "A, B = 1, 2\n", &["A", "B"]);
    outlined("a.ts", "export const a = 1, b = 2;\n", &["a", "b"]);
}

#[test]
fn each_name_of_a_group_is_a_definition_with_its_own_lines() {
    let text = "package a\n\n// Errors.\nvar (\n\t// One.\n\tErrOne = new(1)\n\tA, B int\n)\n\nconst (\n\tX = iota\n\tY\n)\n\ntype (\n\t// S is one.\n\tS struct {\n\t\tF int\n\t}\n\tI interface {\n\t\tM()\n\t}\n\tT = int\n)\n\nfunc f() {\n\tvar (\n\t\tlocal int\n\t)\n}\n";
    let source = Source::new("a.go", text, &Limits::default());
    let symbols = source.outline().symbols.iter();
    let found: Vec<String> = symbols
        .map(|it| format!("{} {}", it.qualified_name, it.span_with_doc()))
        .collect();
    let expected = [
        "ErrOne 5-6",
        "A 7-7",
        "B 7-7",
        "X 11-11",
        "Y 12-12",
        "S 16-19",
        "S.F 18-18",
        "I 20-22",
        "I.M 21-21",
        "T 23-23",
        "f 26-30",
    ];
    assert_eq!(found, expected);
    let rows = lines(text);
    let pieces = pieces(&rows, source.outline());
    let mut defined: Vec<&str> = pieces
        .iter()
        .flat_map(ctx_syntax::Piece::known_names)
        .map(String::as_str)
        .collect();
    defined.sort_unstable();
    assert_eq!(
        defined,
        ["A", "B", "ErrOne", "F", "I", "M", "S", "T", "X", "Y", "f"]
    );
}

#[test]
fn sections_of_a_document_are_its_outline() {
    let text = "# One\n\ntext\n\n## Two\n\nmore\nand more\n\n# Three\n";
    let source = Source::new("a.md", text, &Limits::default());
    let sections = &source.outline().symbols;
    assert!(sections.iter().all(|it| it.kind == Section));
    let spans: Vec<(u32, u32)> = sections
        .iter()
        .map(|it| (it.span.start(), it.span.end()))
        .collect();
    assert_eq!(spans, [(1, 9), (5, 9), (10, 10)]);
    let signature = source.render(source.whole(), RenditionKind::Signature, &[]);
    let numbers: Vec<u32> = signature.numbers().collect();
    assert_eq!(numbers, [1, 5, 10], "{}", signature.text());
    assert!(Enum != Section);
}

#[test]
fn a_document_is_shown_by_its_headings_and_what_comes_first_below_them() {
    let text = sample("a.md").text;
    shows(
        "a.md",
        text,
        RenditionKind::Skeleton,
        "# Points\n\nA guide to:\n\n<!-- … 1 line left out -->\n\n## Use\n\nCall it,\nwith care.\n\n<!-- … 5 lines left out -->\n\nOlder\n-----\n\nOnly this.\n",
    );
    signature(
        "a.md",
        text,
        "# Points\n<!-- … 5 lines left out -->\n## Use\n<!-- … 10 lines left out -->\nOlder\n-----\n<!-- … 2 lines left out -->\n",
    );
}

#[test]
fn references_say_what_is_called_extended_and_used() {
    use ctx_syntax::ReferenceKind::{Call, Extends, Type};
    let text = "class A(Base):\n    def f(self, x: Thing):\n        helper(x)\n        self.g()\n";
    let source = Source::new("a.py", text, &Limits::default());
    let outline = source.outline();
    let found: Vec<_> = outline
        .references
        .iter()
        .map(|it| (it.kind, it.name.as_str(), it.line, it.within))
        .collect();
    assert_eq!(
        found,
        [
            (Extends, "Base", 1, Some(0)),
            (Type, "Thing", 2, Some(1)),
            (Call, "helper", 3, Some(1)),
            (Call, "g", 4, Some(1)),
        ]
    );
    assert_eq!(outline.enclosing(3), Some(1));
    assert_eq!(outline.path_to(1), [0, 1]);
    assert_eq!(outline.find("A.f"), Some(1));
}
