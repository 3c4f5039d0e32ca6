(call target: (identifier) @_word (arguments . [(call target: (identifier) @name) (identifier) @name (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "when")]) (do_block) @body (#any-of? @_word "def" "defp" "defdelegate" "defn" "defnp")) @def.function
(call target: (identifier) @_word (arguments . [(call target: (identifier) @name) (identifier) @name (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "when")]) (#any-of? @_word "def" "defp" "defdelegate" "defn" "defnp")) @def.function
(call target: (identifier) @_word (arguments . [(call target: (identifier) @name) (identifier) @name (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "when")]) (do_block) @body (#any-of? @_word "defmacro" "defmacrop" "defguard" "defguardp")) @def.macro
(call target: (identifier) @_word (arguments . [(call target: (identifier) @name) (identifier) @name (binary_operator left: [(call target: (identifier) @name) (identifier) @name] operator: "when")]) (#any-of? @_word "defmacro" "defmacrop" "defguard" "defguardp")) @def.macro
(call target: (identifier) @_word (arguments . (string (quoted_content) @title)) (do_block) @body (#eq? @_word "test")) @def.function
(call target: (identifier) @_word (arguments (alias) @qualified) (do_block) (#eq? @_word "defmodule")) @def.module
(call target: (identifier) @_word (arguments (alias) @qualified) (do_block) (#eq? @_word "defprotocol")) @def.interface
(call target: (identifier) @_word (arguments . (alias) @qualified) (do_block) (#eq? @_word "defimpl")) @def.impl
(call target: (identifier) @_word (arguments (list [(atom) @symbol @def.field (keywords (pair key: (keyword) @symbol) @def.field)])) (#any-of? @_word "defstruct" "defexception"))
(call target: (identifier) @_word (arguments (keywords (pair key: (keyword) @symbol) @def.field)) (#any-of? @_word "defstruct" "defexception"))
(call target: (identifier) @_word (arguments . (atom) @symbol) (#any-of? @_word "field" "belongs_to" "has_many" "has_one" "many_to_many" "embeds_one" "embeds_many")) @outer.field
(unary_operator operator: "@" operand: (call target: (identifier) @_word (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)] operator: "::"))) (#any-of? @_word "type" "typep" "opaque")) @def.type
(unary_operator operator: "@" operand: (call target: (identifier) @_word (arguments (binary_operator left: (call target: (identifier) @name) operator: "::"))) (#any-of? @_word "callback" "macrocallback")) @def.method
(unary_operator operator: "@" operand: (call target: (identifier) @name (arguments)) (#not-any-of? @name "doc" "moduledoc" "typedoc" "spec" "type" "typep" "opaque" "callback" "macrocallback" "optional_callbacks" "impl" "behaviour" "derive" "deprecated" "dialyzer" "compile" "enforce_keys" "tag" "describetag" "moduletag" "on_load" "after_compile" "before_compile" "external_resource")) @outer.constant
; What is said of the definition below it.
(unary_operator operator: "@" operand: (call target: (identifier) @_word) (#any-of? @_word "doc" "typedoc" "spec" "impl" "deprecated" "tag")) @comment
(call target: (identifier) @_word (arguments (alias) @module) (#any-of? @_word "import" "alias" "use" "require")) @import
(call target: (identifier) @ref.call)
(call target: (dot right: (identifier) @ref.call))
