import { fileURLToPath } from "node:url";

const path = (file: string) => fileURLToPath(new URL(file, import.meta.url));

/** Files of the programs that tests of several packages start: providers, functions, programs that write logs. */
export const TEST_PROGRAMS = Object.freeze({
  /** Program of the kit whose types are written as tokens. */
  shelfProvider: path("programs/shelf-provider.ts"),
  /** Pulumi provider that needs the address of an engine and writes logs. */
  chattyProvider: path("programs/chatty-provider.ts"),
  /** Provider of the 2017 protocol that keeps its resources as files. */
  diskProvider: path("programs/disk-2017.ts"),
  /** Function with the provider of notes. */
  notesFunction: path("notes/notes-function.ts"),
  /** Provider that logs what it is given. */
  loggedProgram: path("notes/logged-program.ts"),
});
