(rule_set (selectors) @name) @def.section
(media_statement "@media" @name) @def.section
(keyframes_statement (keyframes_name) @name) @def.section
(declaration (property_name) @name) @def.field
(import_statement (_) @module) @import
