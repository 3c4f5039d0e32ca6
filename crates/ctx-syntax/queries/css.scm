(rule_set (selectors) @name @head) @def.section
(media_statement "@media" @name) @def.section
(supports_statement "@supports" @name) @def.section
(at_rule (at_keyword) @_word (keyword_query) @name (block) (#any-of? @_word "@layer" "@property" "@counter-style" "@container" "@font-palette-values")) @def.section
(at_rule (at_keyword) @name (block) (#not-any-of? @name "@layer" "@property" "@counter-style" "@container" "@font-palette-values")) @def.section
(keyframes_statement (keyframes_name) @name @head (keyframe_block_list) @body) @def.section
(declaration (property_name) @name) @def.field
(import_statement (_) @module) @import
