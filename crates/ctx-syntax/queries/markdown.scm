; Every block after a section's first. Both of a pair are captured, as a match that differs from another in
; what comes later alone is taken for the same.
(section (atx_heading heading_content: (_) @name) @head
  [(paragraph) (list) (fenced_code_block) (indented_code_block) (block_quote) (pipe_table) (html_block) (thematic_break) (link_reference_definition)] @_word
  . [(paragraph) (list) (fenced_code_block) (indented_code_block) (block_quote) (pipe_table) (html_block) (thematic_break) (link_reference_definition)] @body) @def.section
(section (atx_heading heading_content: (_) @name) @head) @def.section
(setext_heading heading_content: (_) @name) @def.section @head
