import { isFgBridgeError } from "@stackwright/fg-bridge";
import { type FunctionsFile, readFunctionsFile } from "@stackwright/fg-bridge/runtime";
import { CommandError } from "../command-error.ts";

/** Reads a file of functions; `CommandError` where it cannot be used. */
export async function readFunctions(path: string): Promise<FunctionsFile> {
  try {
    return await readFunctionsFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") {
      throw new CommandError(`There is no file of functions "${path}".`, { cause: error });
    }
    if (!isFgBridgeError(error)) throw error;
    throw new CommandError(`The file of functions cannot be used: ${error.message}.`, {
      cause: error,
      advice:
        'It is JSON: {"functions": [{"urn": "urn:fss:...", "command": ["node", "function.js"]}], "accounts": [...]}',
    });
  }
}
