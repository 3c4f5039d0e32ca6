(call target: (identifier) @_word (arguments [(call target: (identifier) @name) (identifier) @name (binary_operator left: (call target: (identifier) @name))]) (do_block) @body (#any-of? @_word "def" "defp" "defmacro" "defmacrop")) @def.function
(call target: (identifier) @_word (arguments (alias) @name) (do_block) (#any-of? @_word "defmodule" "defprotocol" "defimpl")) @def.module
(call target: (identifier) @_word (arguments (alias) @module) (#any-of? @_word "import" "alias" "use" "require")) @import
(call target: (identifier) @ref.call)
(call target: (dot right: (identifier) @ref.call))
