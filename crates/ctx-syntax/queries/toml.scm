(table [(bare_key) (dotted_key) (quoted_key)] @name) @def.section
(table_array_element [(bare_key) (dotted_key) (quoted_key)] @name) @def.section
(pair [(bare_key) (dotted_key) (quoted_key)] @name) @def.field
