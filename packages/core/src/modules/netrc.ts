import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

/** Logins by host, as the file `.netrc` of the user has them; `NETRC` names another file. */
export async function readNetrc(env: NodeJS.ProcessEnv): Promise<ReadonlyMap<string, string>> {
  const { NETRC, HOME } = env;
  const path = NETRC ?? join(HOME === undefined || HOME === "" ? homedir() : HOME, ".netrc");
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch {
    return new Map();
  }
  const found = new Map<string, string>();
  const words = text.split(/\s+/);
  let host: string | undefined;
  let login = "";
  for (let at = 0; at < words.length; at++) {
    const word = words[at];
    const value = words[at + 1] ?? "";
    if (word === "machine") [host, login] = [value, ""];
    if (word === "login") login = value;
    if (word === "password" && host !== undefined) {
      found.set(host, Buffer.from(`${login}:${value}`).toString("base64"));
    }
  }
  return found;
}
