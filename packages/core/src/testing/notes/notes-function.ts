import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { createNotesProvider } from "./notes-provider.ts";

// The notes as the code of a function: listens at PORT, writes into NOTES_FOLDER, has the schema of NOTES_RELEASE.
const { PORT, NOTES_FOLDER = ".", NOTES_RELEASE } = process.env;
const release = NOTES_RELEASE === "2" ? 2 : 1;
const create = () => createNotesProvider(NOTES_FOLDER, release);
const server = await serveFunction({
  runner: createLifecycleRunner({ name: "notes", create }),
  port: Number(PORT),
});
process.once("SIGTERM", () => void server.close());
