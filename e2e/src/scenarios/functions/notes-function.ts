import { join } from "node:path";
import {
  createLifecycleRunner,
  openDirectoryJournal,
  serveFunction,
} from "@stackwright/fg-bridge/function";
import { createNotesProvider } from "./notes-provider.ts";

// The notes as the code of a function: listens at PORT, writes into NOTES_FOLDER, has the form of NOTES_RELEASE.
const { PORT, NOTES_FOLDER = ".", NOTES_RELEASE } = process.env;
const release = NOTES_RELEASE === "2" ? 2 : 1;
await using _server = await serveFunction({
  runner: createLifecycleRunner({
    name: "notes",
    create: () => createNotesProvider(NOTES_FOLDER, release),
  }),
  port: Number(PORT),
  journal: await openDirectoryJournal({ directory: join(NOTES_FOLDER, ".journal") }),
});
await new Promise((resolve) => process.once("SIGTERM", resolve));
