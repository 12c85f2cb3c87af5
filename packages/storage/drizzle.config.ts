import { defineConfig } from "drizzle-kit";

/** `pnpm migrations` compares the schema with the committed migrations and writes the next one. */
export default defineConfig({
  dialect: "postgresql",
  schema: "./src/engine/postgres/schema.ts",
  out: "./drizzle",
});
