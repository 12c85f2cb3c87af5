import { readFileSync } from "node:fs";

/** A user of this machine. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * The user that PostgreSQL runs as when we are root, which it refuses: `postgres` where the distribution's package made
 * that user, else `nobody`. Undefined when we are not root and nothing must change.
 */
export function unprivilegedAccount(
  uid: number | undefined = process.getuid?.(),
  passwd: string = readFileSync("/etc/passwd", "utf8"),
): Account | undefined {
  if (uid !== 0) return undefined;
  const accounts = passwd.split("\n").map((line) => line.split(":"));
  for (const name of ["postgres", "nobody"]) {
    const found = accounts.find((fields) => fields[0] === name);
    if (found) return { name, uid: Number(found[2]), gid: Number(found[3]) };
  }
  throw new Error('running as root, and neither the user "postgres" nor "nobody" exists');
}
