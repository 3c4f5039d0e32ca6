(element (start_tag (tag_name) @name (attribute (attribute_name) (quoted_attribute_value)))) @def.section
(script_element (start_tag (tag_name) @name)) @def.section
(style_element (start_tag (tag_name) @name)) @def.section
