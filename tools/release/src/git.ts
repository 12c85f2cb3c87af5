import { requireCommand } from "@stackwright-tools/processes";

/** Runs git in the repository and returns what it wrote, without the last line break. */
export async function git(root: string, ...words: readonly string[]): Promise<string> {
  return (await requireCommand(["git", ...words], { cwd: root })).trimEnd();
}

/** The commit that is built, with the time that all files of a release get. */
export async function gitCommit(root: string): Promise<{ id: string; time: Date }> {
  const [id = "", time = ""] = (await git(root, "log", "-1", "--format=%H %cI")).split(" ");
  return { id, time: new Date(time) };
}
