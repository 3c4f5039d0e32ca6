(table [(bare_key) (dotted_key) (quoted_key)] @name @head) @def.section
(table_array_element [(bare_key) (dotted_key) (quoted_key)] @name @head) @def.section
(pair . [(bare_key) (dotted_key) (quoted_key)] @name (_) @body .) @def.field
