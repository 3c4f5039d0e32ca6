//! Deeply nested input in every language: parsing ends, the process survives, and every line can be
//! shown.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ctx_syntax::{Fallback, Language, Limits, Outline, Source};

/// So many in each other.
const DEPTH: usize = 100_000;

/// What no parse takes, however busy the machine is.
const LONG: Duration = Duration::from_secs(30);

/// What a language holds within itself, by line: the name of a file of it, then what opens and what
/// closes one such thing, with `…` between both. Without `…` it is what every text of the language
/// begins with. `⏎` is a line feed, after which as many spaces follow as there are levels.
const NESTS: &str = "
a.rs  mod a{…}  fn a(){…}  a!(…)  if a{…}  A<…>  /*…*/  &…
a.py  if a:⏎…  def a():⏎…  class A:⏎…  f'{…}'  lambda:…  not …  @a⏎…
a.js  function a(){…}  class A{a(){…}}  `${…}`  it(`${…}`,()=>{})  a=>…  <a>…</a>  ({a:…})  if(a)…
a.ts  namespace a{…}  class A{a(){…}}  type A={a:…}  A<…>  `${…}`  keyof …
a.tsx  <a>…</a>  <a>{…}</a>  <a b={…}/>  `${…}`  function a(){…}
a.go  package a⏎  func(){…}  type A struct{a …}  []…  map[…]a  if a{…}  /*…*/
a.java  class A{…}  class A{void a(){…}}  A<…>  A<;…  A<A.…  ()->…  if(a)…  @A(…)
a.c  struct A{…};  int a(){…}  #if a⏎…#endif⏎  *…  if(a)…
a.cpp  namespace a{…}  class A{…};  A<…>  []{…}  #if a⏎…#endif⏎  R\"a(…)a\"  template<…>  template<>…  extern \"C\" …
a.cs  namespace a{…}  class A{…}  $\"{…}\"  $@\"{…}\"  $\"\"\"{…}\"\"\"  #if a⏎…#endif⏎  A<…>  a=>…
a.rb  class A⏎…end⏎  def a;…end;  \"#{…}\"  %w(…)  %(#{…})  <<A⏎…A⏎  <<A,…  a do … end  ->{…}
a.php  <?php ⏎  class A{…}  function a(){…}  \"{$a[…]}\"  <<<A⏎…⏎A  if(a):…endif;  fn()=>…  array(…)
a.kt  class A{…}  fun a(){…}  \"${…}\"  \"\"\"${…}\"\"\"  /*…*/  A<…>  if(a)…
a.swift  class A{…}  func a(){…}  \"\\(…)\"  #\"\\#(…)\"#  /*…*/  #if a⏎…#endif⏎  A<…>
a.scala  object A{…}  object A:⏎…  def a=⏎…  s\"${…}\"  s\"\"\"${…}\"\"\"  /*…*/  A[…]  if(a)…
a.sh  $(…)  \"$(…)\"  a(){ …;}  <<A⏎…A⏎  <<A …  ${a:-…}  $((…))  if a;then …;fi  case a in a)…;;esac
a.lua  function a() … end  a={…}  do … end  --[[…]]  [=[…]=]  if a then … end  -…
a.html  <div>…</div>  <a id=b>…</a>  <p>…  <li>…  <!--…-->  <script>…</script>
a.css  a{…}  @media a{…}  :not(…)  a{b:calc(…)}  /*…*/  a>…
a.json  {\"a\":…}  {\"a\":[…]}  //…
a.yaml  - …  ? …  a:⏎…  -⏎…  {a: …}  [[…]]  a: |⏎…  &a …
a.toml  a=[…]⏎  a={…}⏎  a.…  [[a.a]]…  [a.…]
a.md  > …  - …  1. …  - a⏎…  1. a⏎…  > a⏎>…  # a⏎⏎…  - > …  [a](…)  **…  ```⏎…```⏎  <div>⏎…</div>⏎
a.rst  a⏎=⏎⏎…  - …  ::⏎ …
a.adoc  == a⏎…  ----⏎…⏎----⏎  ====⏎…
a.org  * a⏎…  #+begin_src⏎…#+end_src⏎  #+begin_src⏎…
a.sql  SELECT (…)  SELECT * FROM (…)  BEGIN …END  CASE WHEN a THEN … END  /*…*/  NOT …  $a$…
a.ex  defmodule A do⏎…end⏎  def a do … end  \"#{…}\"  ~s(#{…})  fn->… end  %{a: …}  a |> …
a.hs  a = do⏎…  where⏎…  let a = …  let{a=…}  case a of⏎…  do{…}  {-…-}  \\a->…  class A where⏎…  [a|…|]  #if a⏎…#endif⏎
a.ml  module A=struct … end  let a=… in a  begin … end  (*…*)  [|…|]  {a|…|a}  fun a->…  object method a=… end
a.zig  const a=struct{…};  fn a()void{…}  .{…}  [a]…  *…  if(a)…  @a(…)
a.tf  a {⏎…}  a = […]  a = {a = …}  a = \"${…}\"  a = (…)  a = a[…]  a = <<A⏎…A⏎  a = <<A…  a = \"%{if a}…  a = [for a in …]  a = !…  /*…*/
a.dart  class A{…}  a(){…}  \"${…}\"  '''${…}'''  /*…*/  A<…>  ()=>…
";

/// What every language is tried with besides.
const BRACKETS: &str = "(…)  […]  {…}  a(…)  if x {…}  <…>";

/// The texts of one language: each nest left open, and closed where it can be. What every language
/// is tried with is only closed in a usual run: up to there the texts are the same.
fn texts(begin: &str, nest: &str) -> Vec<String> {
    let (open, close) = nest.split_once('…').unwrap();
    if open.contains('⏎') {
        return vec![indented(begin, open, Limits::default().bytes)];
    }
    let left_open = [begin, &open.repeat(DEPTH)].concat();
    let closed = [&left_open, "a", &close.repeat(DEPTH)].concat();
    if BRACKETS.contains(nest) && !is_thorough() {
        return vec![closed];
    }
    vec![left_open, closed]
}

/// As many levels as fit into so many bytes, each a space further to the right.
fn indented(begin: &str, open: &str, bytes: usize) -> String {
    let mut text = begin.to_owned();
    for level in 1..DEPTH {
        let more = open.replace('⏎', &format!("\n{}", " ".repeat(level)));
        if text.len() + more.len() > bytes {
            break;
        }
        text.push_str(&more);
    }
    text
}

fn is_thorough() -> bool {
    std::env::var_os("CTX_THOROUGH").is_some()
}

fn ends(path: &str, nest: &str, text: &str) {
    let mut limits = Limits::default();
    // What is refused for its size tries no grammar.
    limits.bytes = usize::MAX;
    if !is_thorough() {
        limits.time /= 50;
    }
    let began = Instant::now();
    let source = Source::new(path, text, &limits);
    crate::is_nested(text, &source, source.whole(), &[1]);
    let symbols = &source.outline().symbols;
    assert!(source.outline().is_well_formed(), "{path} {nest}");
    let names: usize = symbols.iter().map(|it| it.qualified_name.len()).sum();
    assert!(
        names <= text.len() + symbols.len() * 1024,
        "{path} {nest}: {names} bytes of names"
    );
    let took = began.elapsed();
    assert!(took < LONG, "{path} {nest}: {took:?}");
}

/// The name of a file of `language`, what its texts begin with, and its nests.
fn nests(language: Language) -> (&'static str, String, Vec<&'static str>) {
    let is_it = |line: &&str| {
        let path = line.split("  ").next();
        path.is_some_and(|path| !path.is_empty() && Language::of(path, "") == Some(language))
    };
    let line = NESTS.lines().find(is_it);
    let mut entries = line
        .unwrap_or_else(|| panic!("nothing says what nests in {language}"))
        .split("  ");
    let path = entries.next().unwrap();
    let (nests, begin): (Vec<_>, Vec<_>) = entries.partition(|it| it.contains('…'));
    assert!(!nests.is_empty(), "nothing nests in {language}");
    let nests = [nests, BRACKETS.split("  ").collect()].concat();
    (path, begin.concat().replace('⏎', "\n"), nests)
}

/// Optimised, and with all the time that parsing may take, under `CTX_THOROUGH`.
#[test]
fn a_hundred_thousand_in_each_other_end_in_every_language() {
    let languages: Vec<Language> = Language::all().collect();
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(&language) = languages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (path, begin, nests) = nests(language);
            for nest in nests {
                for text in texts(&begin, nest) {
                    ends(path, nest, &text);
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
}

#[track_caller]
fn falls_back(path: &str, text: &str, limit: usize) {
    let language = Language::of(path, text).unwrap();
    let mut limits = Limits::default();
    limits.time *= 60;
    let outline = Outline::of(text, Some(language), &limits);
    let expected = language
        .has_grammar()
        .then_some(Fallback::TooDeep { limit });
    assert_eq!(outline.fallback, expected.or(Some(Fallback::NoGrammar)));
    assert!(outline.symbols.is_empty());
}

/// Names of what lies in each other were of gigabytes: each has all names around it.
#[test]
fn definitions_in_each_other_are_told_to_a_depth() {
    let of = |depth: usize| "mod a{".repeat(depth) + &"}".repeat(depth);
    falls_back("a.rs", &of(101), 100);
    let outline = Outline::of(&of(100), Language::by_name("rust"), &Limits::default());
    if outline.fallback != Some(Fallback::NoGrammar) {
        assert_eq!(outline.symbols.len(), 100);
        assert_eq!(outline.symbols[99].qualified_name, ["a"; 100].join("::"));
    }
}

#[test]
fn a_long_name_is_not_told_again_with_each_in_it() {
    let text = format!(
        "mod {} {{\n{}}}\n",
        "a".repeat(200_000),
        "fn b() {}\n".repeat(1000)
    );
    let outline = Outline::of(&text, Language::by_name("rust"), &Limits::default());
    if outline.fallback != Some(Fallback::NoGrammar) {
        assert_eq!(outline.symbols.len(), 1001);
        assert_eq!(outline.symbols[1000].qualified_name, "b");
        assert_eq!(outline.symbols[1000].parent, Some(0));
    }
}

/// The grammar took 20 s and 1 GiB for 20 KB of it, in one step.
#[test]
fn angles_that_are_left_open_are_borne_to_a_depth() {
    falls_back("a.java", &"A<".repeat(10_000), 1000);
    falls_back("a.cs", &"A<".repeat(10_000), 1000);
    falls_back("a.java", &"A<;".repeat(10_000), 1000);
    let loops = "void f() { for (int i = 0; i < n; i++) a(i << 2 >> 1); }\n".repeat(2_000);
    let text = format!("class A {{\n{loops}}}\n");
    let mut limits = Limits::default();
    limits.time *= 60;
    let outline = Outline::of(&text, Language::by_name("java"), &limits);
    assert!(matches!(outline.fallback, None | Some(Fallback::NoGrammar)));
}

/// The scanner called itself at each of them, which overflowed the stack and ended the process.
#[test]
fn comments_in_each_other_are_borne_to_a_depth() {
    falls_back("a.ml", &"(*".repeat(200_000), 10_000);
    let text = "(* a *)\nlet a = 1\n".repeat(9_000);
    let mut limits = Limits::default();
    limits.time *= 60;
    let outline = Outline::of(&text, Language::by_name("ocaml"), &limits);
    assert!(matches!(outline.fallback, None | Some(Fallback::NoGrammar)));
}
