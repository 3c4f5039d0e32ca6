(element (start_tag (tag_name) @name . (attribute (attribute_name) (quoted_attribute_value))) @head) @def.section
(script_element (start_tag (tag_name) @name) @head (raw_text)? @body) @def.section
(style_element (start_tag (tag_name) @name) @head (raw_text)? @body) @def.section
