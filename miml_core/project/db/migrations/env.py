"""How Alembic reaches the database: through the connection, and inside the transaction, of the caller."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=False)
context.run_migrations()
