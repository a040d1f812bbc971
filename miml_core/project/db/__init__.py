"""The project's database: engine, schema, migrations, backups, and the project's own folders."""
