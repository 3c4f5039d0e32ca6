//! Which constructs are definitions, by language: constants, properties, variants, aliases, but no
//! locals.

use ctx_model::LineSpan;
use ctx_syntax::SymbolKind::{
    Class, Constant, Enum, Field, Function, Impl, Interface, Macro, Method, Module, Section,
    Struct, Type,
};
use ctx_syntax::{Language, Limits, Source, SymbolKind};

/// A file, and the names of all that is defined in it, with what they are.
type Sample = (
    &'static str,
    &'static str,
    &'static [(&'static str, SymbolKind)],
);

const SAMPLES: &[Sample] = &[
    (
        "a.js",
        "const NEG = -1;\nconst yes = true, RE = /a+/g;\nexport const ctx = createContext(), sum = 60 * 60;\nlet later;\nexport var old = `x`;\nexport const { one, two: renamed, three = 3 } = slice, [first] = all();\nconst { join } = require('path');\nconst twice = (x) => x + x;\nexport const Shape = class {\n  area() {}\n};\nconst on = {\n  move: (e) => {},\n  stop() {},\n};\nmodule.exports.help = function (a) {};\nexports.VALUE = 3;\nPoint.prototype.area = function () {};\nclass A {\n  on = () => {};\n  'quoted'() {}\n}\nif (yes) {\n  const inner = 1;\n}\nfunction f() {\n  const local = 1;\n}\ncall(() => {\n  const local = 1;\n});\n",
        &[
            ("NEG", Constant),
            ("yes", Constant),
            ("RE", Constant),
            ("ctx", Constant),
            ("sum", Constant),
            ("later", Constant),
            ("old", Constant),
            ("one", Constant),
            ("renamed", Constant),
            ("three", Constant),
            ("first", Constant),
            ("twice", Function),
            ("Shape", Class),
            ("Shape.area", Method),
            ("on", Constant),
            ("on.move", Method),
            ("on.stop", Method),
            ("help", Function),
            ("VALUE", Constant),
            ("Point.area", Function),
            ("A", Class),
            ("A.on", Method),
            ("A.quoted", Method),
            ("f", Function),
        ],
    ),
    (
        "a.ts",
        "export const DIRS = ['a'] as const;\nconst flag: boolean = true;\nconst el = find()!;\ndeclare const VERSION: string;\ndeclare module 'lib' {\n  export const inner: number;\n}\nnamespace N {\n  export const k = 1;\n}\nenum Color { Red, Green = 'g' }\nclass A {\n  constructor(private b: B, readonly c: C, d: D) {}\n  run = async () => {};\n}\nexport const App = <T,>(x: T) => x;\nfunction f() {\n  const local = 1;\n}\n",
        &[
            ("DIRS", Constant),
            ("flag", Constant),
            ("el", Constant),
            ("VERSION", Constant),
            ("lib", Module),
            ("lib.inner", Constant),
            ("N", Module),
            ("N.k", Constant),
            ("Color", Enum),
            ("Color.Red", Field),
            ("Color.Green", Field),
            ("A", Class),
            ("A.constructor", Method),
            ("A.constructor.b", Field),
            ("A.constructor.c", Field),
            ("A.run", Method),
            ("App", Function),
            ("f", Function),
        ],
    ),
    (
        "a.tsx",
        "export const Ctx = createContext<X | null>(null);\nexport const App = ({ a }: P) => <b>{a}</b>;\n",
        &[("Ctx", Constant), ("App", Function)],
    ),
    (
        "a.py",
        "A, (B, C) = 1, (2, 3)\nd = e = 1\ntype Alias = list[int]\nif x:\n    IN_IF = 1\nelse:\n    IN_ELSE = 1\ntry:\n    HAS = True\nexcept ImportError:\n    HAS_NOT = False\nif __name__ == \"__main__\":\n    args = 1\nclass P:\n    a, b = 1, 2\n    c = d = 3\n    def f(self):\n        local = 1\n",
        &[
            ("A", Constant),
            ("B", Constant),
            ("C", Constant),
            ("d", Constant),
            ("e", Constant),
            ("Alias", Type),
            ("IN_IF", Constant),
            ("IN_ELSE", Constant),
            ("HAS", Constant),
            ("HAS_NOT", Constant),
            ("P", Class),
            ("P.a", Field),
            ("P.b", Field),
            ("P.c", Field),
            ("P.d", Field),
            ("P.f", Method),
        ],
    ),
    (
        "a.rs",
        "lazy_static! {\n    static ref RE: Regex = new();\n}\nthread_local! {\n    static DEPTH: u32 = 0;\n}\nbitflags! {\n    struct Flags: u32 {}\n}\n",
        &[("RE", Constant), ("DEPTH", Constant), ("Flags", Struct)],
    ),
    (
        "a.go",
        "package a\n\nconst B, C = 1, 2\n\nvar _ I = (*S)(nil)\n\ntype S struct {\n\tEmbedded\n\t*pkg.Other\n}\n\ntype L List[int]\n\nfunc (s *S) M() {}\n\nfunc (s S[T]) N() {}\n\nfunc assembly(x int) int\n",
        &[
            ("B", Constant),
            ("C", Constant),
            ("S", Struct),
            ("S.Embedded", Field),
            ("S.Other", Field),
            ("L", Type),
            ("S.M", Method),
            ("S.N", Method),
            ("assembly", Function),
        ],
    ),
    (
        "A.java",
        "record R(int x) {\n  R {}\n}\ninterface I { int K = 1; }\n@interface A { String value(); }\nmodule m.n {}\n",
        &[
            ("R", Class),
            ("R.x", Field),
            ("R.R", Method),
            ("I", Interface),
            ("I.K", Constant),
            ("A", Interface),
            ("A.value", Method),
            ("m.n", Module),
        ],
    ),
    (
        "a.c",
        "#ifndef A_H\n#define A_H\nextern int count;\nstatic const char *names[] = { \"a\" };\nint a, *b = 0, c[3];\nint (*handler)(int);\nstruct point { int *x, y[2]; int (*call)(int); };\nenum color { RED, GREEN = 2 };\ntypedef struct { int v; } node;\ntypedef unsigned char byte, *bytes;\ntypedef int (*callback)(int);\nchar *name(int a);\n#ifdef X\nvoid only(void);\n#endif\nchar **all(int a) { int local = 1; return 0; }\n#endif\n",
        &[
            ("A_H", Constant),
            ("count", Constant),
            ("names", Constant),
            ("a", Constant),
            ("b", Constant),
            ("c", Constant),
            ("handler", Constant),
            ("point", Struct),
            ("point.x", Field),
            ("point.y", Field),
            ("point.call", Field),
            ("color", Enum),
            ("color.RED", Field),
            ("color.GREEN", Field),
            ("node", Struct),
            ("node.v", Field),
            ("byte", Type),
            ("bytes", Type),
            ("callback", Type),
            ("name", Function),
            ("only", Function),
            ("all", Function),
        ],
    ),
    (
        "a.cpp",
        "namespace geo {\nconstexpr auto kName = \"x\";\nstatic std::vector<int> all{1};\nint *last, &first = *last;\nenum class E { A, B = 2 };\nnamespace fs = std::filesystem;\ntypedef int (*callback)(int);\nclass P {\n  ~P();\n  int *get() const;\n  explicit operator bool() const { return x_; }\n  operator int*();\n  const int &at() const { return x_; }\n  int *x_, y_[2];\n};\n}\nP::~P() {}\nP::operator bool() const { return true; }\nint P::count = 3;\nvoid geo::P::run() { int local = 1; Foo foo(bar); }\ntemplate <typename T> constexpr T pi = T(3);\n",
        &[
            ("geo", Module),
            ("geo::kName", Constant),
            ("geo::all", Constant),
            ("geo::last", Constant),
            ("geo::first", Constant),
            ("geo::E", Enum),
            ("geo::E::A", Field),
            ("geo::E::B", Field),
            ("geo::fs", Type),
            ("geo::callback", Type),
            ("geo::P", Class),
            ("geo::P::~P", Method),
            ("geo::P::get", Method),
            ("geo::P::operator", Method),
            ("geo::P::operator", Method),
            ("geo::P::at", Method),
            ("geo::P::x_", Field),
            ("geo::P::y_", Field),
            ("P::~P", Function),
            ("P::operator", Function),
            ("P::count", Constant),
            ("geo::P::run", Function),
            ("pi", Constant),
        ],
    ),
    (
        "A.cs",
        "class P {\n  public const int K = 1, L = 2;\n  public event Action Changed;\n  public event Action Custom { add { } remove { } }\n  public static P operator +(P a, P b) { return a; }\n  public static implicit operator int(P a) => 1;\n  public int this[int i] => i;\n  ~P() {}\n}\nrecord R(int X);\nvar top = 1;\n",
        &[
            ("P", Class),
            ("P.K", Constant),
            ("P.L", Constant),
            ("P.Changed", Field),
            ("P.Custom", Field),
            ("P.+", Method),
            ("P.operator", Method),
            ("P.this", Field),
            ("P.P", Method),
            ("R", Class),
            ("R.X", Field),
            ("top", Constant),
        ],
    ),
    // Macros that say something of declarations, and a condition within one.
    (
        "a.h",
        "namespace n {\nEXPORT Iterator* NewIterator(int a);\nclass Limiter {\n public:\n  Limiter(int a)\n      :\n#if !defined(NDEBUG)\n        max_(a),\n#endif\n        left_(a) {\n    assert(a);\n  }\n private:\n  int left_ GUARDED_BY(mu_);\n};\nclass EXPORT Batch {\n public:\n  class EXPORT Handler {\n   public:\n    virtual ~Handler();\n  };\n  ~Batch();\n  void Lock(int a) EXCLUSIVE_LOCK_FUNCTION(mu_) { mu_.Lock(); }\n  Mutex* const mu_;\n};\nint last;\n}\n",
        &[
            ("n", Module),
            ("n::NewIterator", Function),
            ("n::Limiter", Class),
            ("n::Limiter::Limiter", Method),
            ("n::Limiter::left_", Field),
            ("n::Batch", Class),
            ("n::Batch::Handler", Class),
            ("n::Batch::Handler::~Handler", Method),
            ("n::Batch::~Batch", Method),
            ("n::Batch::Lock", Method),
            ("n::Batch::mu_", Field),
            ("n::last", Constant),
        ],
    ),
    // Conditions that cut a statement and a block.
    (
        "a.c",
        "int f(int a) {\n#ifdef A\n    if (a) {\n#else\n    if (!a) {\n#endif\n        g();\n    }\n    return a;\n}\n\nint h(int a) {\n#if B\n    if (a)\n        g();\n    else\n#endif\n        f(a);\n    return 0;\n}\n",
        &[("f", Function), ("h", Function)],
    ),
    (
        "a.cs",
        "namespace N {\n    public class Reader {\n        public void Read() {\n#if ASYNC\n            if (a) {\n#else\n            if (b) {\n#endif\n                G();\n            }\n        }\n        public void Close() {\n#if DNX\n            if (c) { H(); }\n            else\n#endif\n            G();\n        }\n        public void Next() {\n            if (a) { H(); }\n#if X\n            else if (b) { H(); }\n#endif\n            else { G(); }\n        }\n    }\n}\n",
        &[
            ("N", Module),
            ("N.Reader", Class),
            ("N.Reader.Read", Method),
            ("N.Reader.Close", Method),
            ("N.Reader.Next", Method),
        ],
    ),
    // Macros before access words, with which the grammar finds no error.
    (
        "a.hpp",
        "class A : public QObject {\n  Q_OBJECT\npublic:\n  A();\n  void load();\n};\nclass B : public QObject {\n  Q_OBJECT\n  Q_PROPERTY(int x READ x WRITE setX)\npublic:\n  explicit B(QObject *parent = nullptr);\npublic slots:\n  void setX(int x);\nprivate:\n  int x_;\n};\n",
        &[
            ("A", Class),
            ("A::A", Method),
            ("A::load", Method),
            ("B", Class),
            ("B::B", Method),
            ("B::setX", Method),
            ("B::x_", Field),
        ],
    ),
    (
        "a.rb",
        "$all = 1\nGeo::LIMIT = 1\nY ||= 2\nclass P\n  attr_accessor :x, \"y\"\n  has_many :parts\n  scope :big, -> { where(a: 1) }\n  define_method(:area) { 1 }\n  alias_method :size, :area\n  alias width area\n  @@count = 0\n  def f\n    @local = 1\n  end\nend\ntask :build do\nend\n",
        &[
            ("$all", Constant),
            ("Geo::LIMIT", Constant),
            ("Y", Constant),
            ("P", Class),
            ("P::x", Field),
            ("P::y", Field),
            ("P::parts", Field),
            ("P::big", Field),
            ("P::area", Method),
            ("P::size", Method),
            ("P::width", Method),
            ("P::@@count", Field),
            ("P::f", Method),
            ("build", Function),
        ],
    ),
    (
        "a.php",
        "<?php\ndefine('LIMIT', 3);\n$app = new App();\nenum Suit { case Hearts; }\nclass P {\n  public function __construct(private int $x, int $y) { $local = 1; }\n}\n",
        &[
            ("LIMIT", Constant),
            ("$app", Constant),
            ("Suit", Enum),
            ("Suit\\Hearts", Field),
            ("P", Class),
            ("P\\__construct", Method),
            ("P\\__construct\\$x", Field),
        ],
    ),
    (
        "a.kt",
        "const val LIMIT = 1\nval (a, b) = pair\ntypealias Id = Int\nenum class E(val v: Int) {\n  A(1)\n}\nclass P(val x: Int, y: Int) {\n  companion object Named {\n    const val K = 1\n  }\n  constructor(x: String) : this(1) {\n    val local = 1\n  }\n  init {\n    val local = 1\n  }\n  fun f() {\n    val local = 1\n  }\n}\ninterface I {\n  val q: Int\n}\n",
        &[
            ("LIMIT", Constant),
            ("a", Constant),
            ("b", Constant),
            ("Id", Type),
            ("E", Enum),
            ("E.v", Field),
            ("E.A", Field),
            ("P", Class),
            ("P.x", Field),
            ("P.Named", Class),
            ("P.Named.K", Field),
            ("P.constructor", Method),
            ("P.f", Method),
            ("I", Interface),
            ("I.q", Field),
        ],
    ),
    (
        "a.swift",
        "let top = 1\nlet (a, b) = (1, 2)\ntypealias Id = Int\nstruct S {\n  static let shared = S()\n  let x = 1, y = 2\n  var body: Int {\n    let local = 1\n    return local\n  }\n  static func == (a: S, b: S) -> Bool { true }\n  static func += (a: inout S, b: S) {}\n  static prefix func ! (a: S) -> Bool { true }\n  subscript(i: Int) -> Int { i }\n  deinit {}\n}\nenum E { case a, b }\nextension S { func f() { let local = 1 } }\nprotocol P {\n  associatedtype Item\n  var q: Int { get }\n  init(x: Int)\n  static func << (a: Self, b: Self) -> Self\n}\nfunc +++ (a: Int, b: Int) -> Int { a }\nmacro mm() = #external(module: \"x\", type: \"y\")\n",
        &[
            ("top", Constant),
            ("a", Constant),
            ("b", Constant),
            ("Id", Type),
            ("S", Struct),
            ("S.shared", Field),
            ("S.x", Field),
            ("S.y", Field),
            ("S.body", Field),
            ("S.==", Method),
            ("S.+=", Method),
            ("S.!", Method),
            ("S.subscript", Method),
            ("S.deinit", Method),
            ("E", Enum),
            ("E.a", Field),
            ("E.b", Field),
            ("S", Impl),
            ("S.f", Method),
            ("P", Interface),
            ("P.Item", Type),
            ("P.q", Field),
            ("P.init", Method),
            ("P.<<", Method),
            ("+++", Function),
            ("mm", Macro),
        ],
    ),
    (
        "a.scala",
        "val top = 1\nval (a, b) = (1, 2)\ngiven ord: Ordering[Int] with { def compare(a: Int) = 0 }\ntrait T { val q: Int; var r: Int }\ncase class C(x: Int)\nclass P(val x: Int, y: Int) { val a, b = 3 }\nenum Color { case Red; case Rgb(r: Int) }\npackage object po { val inner = 1 }\ndef f = {\n  val local = 1\n}\n",
        &[
            ("top", Constant),
            ("a", Constant),
            ("b", Constant),
            ("ord", Class),
            ("ord.compare", Method),
            ("T", Interface),
            ("T.q", Field),
            ("T.r", Field),
            ("C", Class),
            ("C.x", Field),
            ("P", Class),
            ("P.x", Field),
            ("P.a", Field),
            ("P.b", Field),
            ("Color", Enum),
            ("Color.Red", Field),
            ("Color.Rgb", Field),
            ("po", Class),
            ("po.inner", Field),
            ("f", Function),
        ],
    ),
    (
        "a.sh",
        "arr[0]=1\nalias ll='ls -l'\nif x; then\n  IN_IF=1\nelse\n  export IN_ELSE=1\nfi\nf() {\n  LOCAL=1\n}\n",
        &[
            ("ll", Constant),
            ("IN_IF", Constant),
            ("IN_ELSE", Constant),
            ("f", Function),
        ],
    ),
    (
        "a.lua",
        "local M = {}\nTOP = 1\nM.VERSION = \"1\"\nfunction M.open() end\nfunction M:close() end\nlocal twice = function(x) return x end\nlocal on = {\n  move = function() end,\n}\nM.__index = M\n",
        &[
            ("M", Constant),
            ("TOP", Constant),
            ("M.VERSION", Constant),
            ("M.open", Function),
            ("M.close", Method),
            ("twice", Function),
            ("on", Constant),
            ("on.move", Function),
        ],
    ),
    (
        "a.ex",
        "defmodule Point do\n  @limit 3\n  @type t :: any\n  @callback area(t) :: any\n  defstruct [:x, y: 1]\n  @doc \"Its size.\"\n  @spec size(t) :: any\n  def size(p), do: p\n  def zero, do: 0\n  defp big(p) when p > 1, do: p\n  defdelegate all(p), to: Other\n  defguard is_big(p) when p > 1\n  defmacro twice(x) do\n    x\n  end\n  test \"adds\" do\n    1\n  end\nend\ndefprotocol Shape do\n  def area(s)\nend\ndefimpl Shape, for: Point do\n  def area(s), do: s\nend\n",
        &[
            ("Point", Module),
            ("Point.limit", Constant),
            ("Point.t", Type),
            ("Point.area", Method),
            ("Point.x", Field),
            ("Point.y", Field),
            ("Point.size", Function),
            ("Point.zero", Function),
            ("Point.big", Function),
            ("Point.all", Function),
            ("Point.is_big", Macro),
            ("Point.twice", Macro),
            ("Point.adds", Function),
            ("Shape", Interface),
            ("Shape.area", Method),
            ("Shape", Impl),
            ("Shape.area", Method),
        ],
    ),
    (
        "a.dart",
        "const kTop = 1;\nvar a = 1, b = 2;\nint get size => 1;\ntypedef Call = void Function(int);\nexternal int ext();\nclass P {\n  static const int k = 1;\n  final int x, y;\n  P(this.x, this.y);\n  P.named(this.x) : y = 1;\n  factory P.made() { return P(1, 2); }\n  int get area => 1;\n  void abs();\n  bool operator ==(Object o) => true;\n}\nenum E { a, b }\nextension type Id(int i) {}\nclass Both = A with B;\nvoid f() { var local = 1; }\n",
        &[
            ("kTop", Constant),
            ("a", Constant),
            ("b", Constant),
            ("size", Function),
            ("Call", Type),
            ("ext", Function),
            ("P", Class),
            ("P.k", Field),
            ("P.x", Field),
            ("P.y", Field),
            ("P.P", Method),
            ("P.named", Method),
            ("P.made", Method),
            ("P.area", Method),
            ("P.abs", Method),
            ("P.==", Method),
            ("E", Enum),
            ("E.a", Field),
            ("E.b", Field),
            ("Id", Class),
            ("Both", Class),
            ("f", Function),
        ],
    ),
    (
        "a.zig",
        "const copy = other;\npub const S = struct {\n    x: i32,\n    const inner = 1;\n    fn method() void {}\n};\nconst E = enum { a, b };\nconst Err = error{ Bad };\nconst O = opaque {};\ntest \"adds\" {\n    const local = 1;\n}\n",
        &[
            ("copy", Constant),
            ("S", Struct),
            ("S.x", Field),
            ("S.inner", Constant),
            ("S.method", Method),
            ("E", Enum),
            ("E.a", Field),
            ("E.b", Field),
            ("Err", Enum),
            ("Err.Bad", Field),
            ("O", Struct),
            ("adds", Function),
        ],
    ),
    (
        "a.tf",
        "terraform {\n  required_version = \"1\"\n}\nprovider \"aws\" {}\nresource \"aws_vpc\" \"main\" {\n  cidr = 1\n  ingress {\n    port = 2\n  }\n}\ndata \"aws_ami\" \"a\" {\n}\nvariable \"region\" {\n  type = string\n}\nlocals {\n  one = 1\n  two = {\n    inner = 2\n  }\n}\nmodule \"net\" {\n  source = \"./net\"\n}\noutput \"id\" {\n  value = 1\n}\njob \"web\" {\n  group \"a\" {}\n}\nregion = \"b\"\n",
        &[
            ("terraform", Section),
            ("provider.aws", Struct),
            ("aws_vpc.main", Struct),
            ("data.aws_ami.a", Struct),
            ("var.region", Constant),
            ("local.one", Constant),
            ("local.two", Constant),
            ("module.net", Module),
            ("output.id", Constant),
            ("job.web", Struct),
            ("region", Constant),
        ],
    ),
    (
        "a.hs",
        "data T = A | B Int\ndata G where\n  G1 :: Int -> G\nnewtype N = N { unN :: Int }\ntype family F a\nclass C a where\n  type Assoc a\npattern Pat x = Just x\n(a1, b1) = (1, 2)\n",
        &[
            ("T", Enum),
            ("T.A", Field),
            ("T.B", Field),
            ("G", Enum),
            ("G.G1", Field),
            ("N", Struct),
            ("N.N", Field),
            ("N.unN", Field),
            ("F", Type),
            ("C", Interface),
            ("C.Assoc", Type),
            ("Pat", Function),
            ("a1", Constant),
            ("b1", Constant),
        ],
    ),
    (
        "a.ml",
        "let (a, b) = (1, 2)\n",
        &[("a", Constant), ("b", Constant)],
    ),
    (
        "a.sql",
        "CREATE TABLE s.t (id INT);\nCREATE SEQUENCE sq;\nCREATE SCHEMA sch;\nCREATE EXTENSION ext;\nALTER TABLE t ADD CONSTRAINT con UNIQUE (a);\n",
        &[
            ("s.t", Struct),
            ("s.t.id", Field),
            ("sq", Constant),
            ("sch", Module),
            ("ext", Constant),
            ("con", Field),
        ],
    ),
    (
        "a.css",
        "@font-face { font-family: \"X\"; }\n@layer base { .f { color: red; } }\n@property --p { syntax: \"x\"; }\n@supports (display: grid) { .e { color: red; } }\n",
        &[
            ("@font-face", Section),
            ("@font-face.font-family", Field),
            ("base", Section),
            ("base..f", Section),
            ("base..f.color", Field),
            ("--p", Section),
            ("--p.syntax", Field),
            ("@supports", Section),
            ("@supports..e", Section),
            ("@supports..e.color", Field),
        ],
    ),
    ("a.yaml", "\"on\": 1\n", &[("on", Field)]),
    ("a.toml", "\"a b\" = 1\n", &[("a b", Field)]),
];

#[test]
fn definitions_are_outlined_and_locals_are_not() {
    let mut wrong = Vec::new();
    for (path, text, expected) in SAMPLES {
        let source = Source::new(path, text, &Limits::default());
        let symbols = source.outline().symbols.iter();
        let found: Vec<(&str, SymbolKind)> = symbols
            .map(|it| (it.qualified_name.as_str(), it.kind))
            .collect();
        if source.language().is_some_and(Language::has_grammar) && found != *expected {
            wrong.push(format!("{path}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

const TESTS: &str = "\
import { Session } from './session';

describe('Session', () => {
  beforeEach(() => reset());

  /** Once is enough. */
  it('closes', async () => {
    const session = new Session();
  });

  it.only(`retries after ${n}`, { timeout: 9 }, () => run());
  test.each([[1, 2]])('adds %i', (a, b) => {
    expect(a).toBe(b);
  });
  it('doesn\\'t fail', fakeAsync(() => {
    tick();
  }), 100);

  describe.skip(\"when closed\", function () {
    it.todo('reopens');
    xit('is gone', function (done) {
      done();
    });
  });
});

test.describe('page', () => {
  test.only('opens', async ({ page }) => {});
});
describe(Session.name, () => {});
QUnit.module('old', function (hooks) {
  QUnit.test('runs', (assert) => {});
});
Deno.test('alone', () => {});
test.each`
  a
  ${1}
`('tabled', () => {});

context('2d');
test.beforeEach('prepares', () => {});
it(name, () => {});
regex.test('abc', () => {});
";

#[test]
fn tests_of_javascript_are_definitions_by_their_titles() {
    let expected = [
        ("Session", Module, 3),
        ("Session.closes", Function, 7),
        ("Session.retries after ${n}", Function, 11),
        ("Session.adds %i", Function, 12),
        ("Session.doesn't fail", Function, 15),
        ("Session.when closed", Module, 19),
        ("Session.when closed.is gone", Function, 21),
        ("page", Module, 27),
        ("page.opens", Function, 28),
        ("Session.name", Module, 30),
        ("old", Module, 31),
        ("old.runs", Function, 32),
        ("alone", Function, 34),
        ("tabled", Function, 35),
    ];
    for path in ["a.test.js", "a.test.ts", "a.test.tsx"] {
        let source = Source::new(path, TESTS, &Limits::default());
        if !source.language().is_some_and(Language::has_grammar) {
            continue;
        }
        let symbols = &source.outline().symbols;
        let found: Vec<_> = symbols
            .iter()
            .map(|it| (it.qualified_name.as_str(), it.kind, it.span.start()))
            .collect();
        assert_eq!(found, expected, "{path}");
        assert!(symbols.iter().all(|it| it.is_title));
        let closes = &symbols[1];
        assert_eq!(closes.span_with_doc().to_string(), "6-9");
        assert_eq!(closes.signature.to_string(), "7-7");
        assert_eq!(closes.body, LineSpan::new(8, 8).ok());
        assert_eq!(symbols[0].signature.to_string(), "3-3");
    }
}

#[test]
#[cfg(feature = "javascript")]
fn a_title_of_one_word_is_no_definition_of_what_it_names() {
    // A small suite is one part.
    let text = TESTS.replacen(
        "  beforeEach",
        &("  setUp();\n".repeat(9) + "  beforeEach"),
        1,
    );
    let source = Source::new("a.test.js", &text, &Limits::default());
    let pieces = ctx_syntax::pieces(&ctx_syntax::lines(&text), source.outline());
    let named = |name: &str| pieces.iter().find(|it| it.name.as_deref() == Some(name));
    let suite = named("Session").unwrap();
    assert_eq!(suite.kind.as_str(), "module");
    assert_eq!(suite.known_names().count(), 0);
    let closes = named("closes").unwrap();
    assert_eq!(closes.known_names().count(), 0);
    assert_eq!(closes.qualified_name.as_deref(), Some("Session.closes"));
    assert_eq!(closes.refers_to, ["it", "Session"]);
    let fails = named("doesn't fail").unwrap();
    assert_eq!(fails.known_names().collect::<Vec<_>>(), ["doesn't fail"]);

    // The class is meant, and not the suite of the same file.
    let class = Source::new(
        "session.js",
        "export class Session {}\n",
        &Limits::default(),
    );
    let files = [
        ("a.test.js", source.outline()),
        ("session.js", class.outline()),
    ];
    let graph = ctx_syntax::Graph::new(files);
    let closes = graph.find("Session.closes")[0];
    let called: Vec<&str> = graph
        .outgoing(closes)
        .iter()
        .map(|it| graph.nodes()[it.to].path)
        .collect();
    assert_eq!(called, ["session.js"]);
    assert!(graph.find("fail").is_empty());
    let sessions = graph.find("Session");
    let paths: Vec<&str> = sessions.iter().map(|&it| graph.nodes()[it].path).collect();
    assert_eq!(paths, ["session.js"]);
}

#[test]
fn what_a_module_of_common_js_is_has_a_name() {
    let text = "\
module.exports = function make(options) {
  return options;
};
exports = module.exports = function compress(options) {
  return options;
};
module.exports = class Server extends Base {
  listen() {}
};
module.exports = function () {};
other = function inner() {};
";
    for path in ["a.js", "a.ts"] {
        let source = Source::new(path, text, &Limits::default());
        let symbols = source.outline().symbols.iter();
        let found: Vec<_> = symbols
            .map(|it| (it.qualified_name.as_str(), it.kind, it.span.to_string()))
            .collect();
        if source.language().is_some_and(Language::has_grammar) {
            let expected = [
                ("make", Function, "1-3"),
                ("compress", Function, "4-6"),
                ("Server", Class, "7-9"),
                ("Server.listen", Method, "8-8"),
            ];
            assert_eq!(found, expected.map(|it| (it.0, it.1, it.2.to_owned())));
        }
    }
}

#[test]
#[cfg(feature = "php")]
fn each_import_of_a_group_has_the_module_before_it() {
    let text = "<?php\nuse App\\{A, B as C, Sub\\D};\nuse function App\\{f};\n";
    let source = Source::new("a.php", text, &Limits::default());
    let imports = source.outline().imports.iter();
    let found: Vec<&str> = imports.map(|it| it.module.as_str()).collect();
    assert_eq!(found, ["App\\A", "App\\B", "App\\Sub\\D", "App\\f"]);
}

/// What is defined in each part of `text`, as the index asks for it.
#[cfg(any(feature = "javascript", feature = "cpp"))]
fn defined(path: &str, text: &str) -> Vec<Vec<String>> {
    let source = Source::new(path, text, &Limits::default());
    let pieces = ctx_syntax::pieces(&ctx_syntax::lines(text), source.outline());
    let names = |it: &ctx_syntax::Piece| it.known_names().cloned().collect();
    pieces.iter().map(names).collect()
}

#[test]
#[cfg(feature = "javascript")]
fn a_run_of_constants_is_one_part_and_a_short_one_is_not_cut_for_its_functions() {
    let text = "const A = -1;\nconst B = true;\nconst on = {\n  move() {},\n  stop: () => {},\n};\nconst C = /c/;\n";
    assert_eq!(
        defined("a.js", text),
        [["A", "B", "on", "move", "stop", "C"]]
    );
}

#[test]
#[cfg(all(feature = "cpp", feature = "go", feature = "lua"))]
fn a_definition_with_a_qualified_name_is_found_by_its_own_name() {
    assert_eq!(defined("a.cpp", "int geo::P::area() {}\n"), [["area"]]);
    assert_eq!(
        defined("a.go", "package a\nfunc (p *P) Area() {}\n")[1],
        ["Area"]
    );
    assert_eq!(defined("a.lua", "function M.open() end\n"), [["open"]]);
}

#[test]
fn a_name_is_stored_without_its_scope_and_type_arguments() {
    let texts: [(&str, &str, &[&str]); 5] = [
        (
            "a.rb",
            "class Api::V1::User\n  def f; end\nend\nmodule ::Top\nend\n",
            &["User Api::V1::User", "f Api::V1::User::f", "Top Top"],
        ),
        (
            "a.ex",
            "defmodule App.User do\n  def f, do: 1\nend\ndefimpl App.Shape, for: A do\nend\n",
            &["User App.User", "f App.User.f", "Shape App.Shape"],
        ),
        (
            "a.swift",
            "extension Request.Body {\n  func f() {}\n}\n",
            &["Body Request.Body", "f Request.Body.f"],
        ),
        (
            "a.rs",
            "impl<T> Stack<T> {\n    fn f() {}\n}\nimpl A for b::C<'_> {}\nimpl A for &[b::C] {}\n",
            &["Stack Stack", "f Stack::f", "C b::C", "&[b::C] &[b::C]"],
        ),
        (
            "a.cpp",
            "struct A::Impl {\n  int x;\n};\ntemplate <>\nclass std::hash<A> {\n};\ntemplate <typename T>\nstruct Box<T*> {\n};\ntemplate <typename T>\nT Stack<T>::Node::pop() {\n  return T();\n}\ntemplate <>\nvoid f<int>() {\n}\ntemplate <>\nint a::g<int>() {\n}\n",
            &[
                "Impl A::Impl",
                "x A::Impl::x",
                "hash std::hash",
                "Box Box",
                "pop Stack::Node::pop",
                "f f",
                "g a::g",
            ],
        ),
    ];
    for (path, text, expected) in texts {
        let source = Source::new(path, text, &Limits::default());
        if source.language().is_some_and(Language::has_grammar) {
            let symbols = source.outline().symbols.iter();
            let found: Vec<String> = symbols
                .map(|it| format!("{} {}", it.name, it.qualified_name))
                .collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}

#[test]
#[cfg(feature = "cpp")]
fn tests_of_google_test_are_definitions_by_their_names() {
    let text = "\
// Takes the last.
TEST(Stack, Pop) {
  stack.Pop();
}
TEST_F(n::StackTest, IsEmptyAtFirst) {
}
TYPED_TEST(Stack, Push) {}
TEST(Alone) {}
";
    let source = Source::new("a.cpp", text, &Limits::default());
    let symbols = &source.outline().symbols;
    let found: Vec<_> = symbols
        .iter()
        .map(|it| (it.qualified_name.as_str(), it.span_with_doc().to_string()))
        .collect();
    let expected = [
        ("Stack::Pop", "1-4"),
        ("n::StackTest::IsEmptyAtFirst", "5-6"),
        ("Stack::Push", "7-7"),
        ("Alone", "8-8"),
    ];
    assert_eq!(found, expected.map(|it| (it.0, it.1.to_owned())));
    assert!(symbols.iter().all(|it| it.is_title && it.kind == Function));
    assert_eq!(symbols[0].body, LineSpan::new(3, 3).ok());
}

#[test]
#[cfg(feature = "cpp")]
fn what_is_written_around_a_definition_is_a_part_of_it() {
    let text = "\
/// Returns the larger.
template <typename T>
T larger(T a, T b) {
  return a < b ? b : a;
}

// Holds items.
template <typename T,
          std::size_t N>
requires std::copyable<T>
class Stack {
  // Takes the last.
  template <typename U>
  U pop();
  // Hashes it.
  template <typename H>
  friend H hash(H h, const Stack& it) {
    return h;
  }
};

// Of two parameters.
template <typename T>
template <typename U>
U Stack<T>::pop() {
  return U();
}

// Always.
template <typename T>
inline constexpr bool always = true;

// For others.
extern \"C\"
void run(int a) {
  run(a);
}
";
    let source = Source::new("a.cpp", text, &Limits::default());
    let symbols = source.outline().symbols.iter();
    let found: Vec<String> = symbols
        .map(|it| {
            let (whole, signature) = (it.span_with_doc(), it.signature);
            format!("{} {} {whole} {signature}", it.kind, it.name)
        })
        .collect();
    assert_eq!(
        found,
        [
            "function larger 1-5 2-3",
            "class Stack 7-20 8-11",
            "method pop 12-14 13-14",
            "method hash 15-19 16-17",
            "function pop 22-27 23-25",
            "constant always 29-31 30-31",
            "function run 33-37 34-35",
        ]
    );
    let pieces = ctx_syntax::pieces(&ctx_syntax::lines(text), source.outline());
    let spans: Vec<String> = pieces.iter().map(|it| it.span.to_string()).collect();
    assert_eq!(spans, ["1-5", "7-20", "22-27", "29-31", "33-37"]);
}

#[test]
#[cfg(feature = "elixir")]
fn documentation_attributes_of_a_function_are_its_documentation() {
    let text = "defmodule P do\n  @limit 3\n  @doc \"Its size.\"\n  @spec size(t) :: any\n  def size(p), do: p\nend\n";
    let source = Source::new("a.ex", text, &Limits::default());
    let size = source.outline().find("P.size").unwrap();
    assert_eq!(
        source.outline().symbols[size].span_with_doc().to_string(),
        "3-5"
    );
}
