import process from "node:process";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { createNotesProvider } from "./notes-provider.ts";

// The code of the function: an HTTP server for `POST /provider`. The platform names the port, and ends it with SIGTERM.
const folder = process.env["NOTES_FOLDER"] ?? "notes";
await using _server = await serveFunction({
  runner: createLifecycleRunner({ name: "notes", create: () => createNotesProvider(folder) }),
  port: Number(process.env["PORT"] ?? 8000),
});
await new Promise((resolve) => process.once("SIGTERM", resolve));
