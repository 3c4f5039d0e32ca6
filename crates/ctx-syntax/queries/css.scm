(rule_set (selectors) @name @head) @def.section
(media_statement "@media" @name) @def.section
(keyframes_statement (keyframes_name) @name @head (keyframe_block_list) @body) @def.section
(declaration (property_name) @name) @def.field
(import_statement (_) @module) @import
