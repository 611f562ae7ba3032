//! Import statements.

use super::Extractor;
use crate::facts::*;
use ruff_python_ast::{self as ast, Alias};
use ruff_text_size::TextRange;

impl Extractor<'_> {
    pub(super) fn import(&mut self, s: &ast::StmtImport) {
        for alias in &s.names {
            let module = self.names.intern(&alias.name.id);
            let bound = match &alias.asname {
                Some(name) => self.names.intern(&name.id),
                None => self.names.intern(alias.name.id.split('.').next().unwrap_or_default()),
            };
            let renamed = alias.asname.is_some();
            self.binding(
                Import {
                    bound,
                    level: 0,
                    module,
                    member: None,
                    renamed,
                    ..self.blank_import(s.range)
                },
                alias,
            );
        }
    }

    pub(super) fn import_from(&mut self, s: &ast::StmtImportFrom) {
        let module = self.names.intern(s.module.as_ref().map_or("", |m| &m.id));
        for alias in &s.names {
            if &alias.name.id == "*" {
                let span = self.span(s.range);
                self.star_imports.push(StarImport {
                    level: s.level,
                    module,
                    span,
                });
                continue;
            }
            let member = self.names.intern(&alias.name.id);
            let bound = alias.asname.as_ref().map_or(member, |name| self.names.intern(&name.id));
            let renamed = alias.asname.is_some();
            self.binding(
                Import {
                    bound,
                    level: s.level,
                    module,
                    member: Some(member),
                    renamed,
                    ..self.blank_import(s.range)
                },
                alias,
            );
        }
    }

    fn blank_import(&self, range: TextRange) -> Import {
        Import {
            bound: Name(0),
            level: 0,
            module: Name(0),
            member: None,
            renamed: false,
            function: self.scope.function,
            type_checking: self.type_checking,
            span: self.span(range),
        }
    }

    fn binding(&mut self, import: Import, alias: &Alias) {
        let (name, span) = (import.bound, self.span(alias.range));
        self.imports.push(import);
        let id = ImportId(self.imports.len() as u32 - 1);
        let value = self.scope.emit(Op::Import(id), span);
        self.bind(name, value, alias.range);
    }
}
