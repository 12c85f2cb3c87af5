import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";

/**
 * Where built tools are kept: `STACKWRIGHT_TOOLS_CACHE`, else `stackwright/tools` in the user's
 * cache folder (`XDG_CACHE_HOME`, which counts only when absolute, or `~/.cache`).
 */
export function cacheFolder(env: NodeJS.ProcessEnv): string {
  const own = env.STACKWRIGHT_TOOLS_CACHE;
  if (own) return resolve(own);
  const xdg = env.XDG_CACHE_HOME;
  return join(xdg && isAbsolute(xdg) ? xdg : join(homedir(), ".cache"), "stackwright", "tools");
}
