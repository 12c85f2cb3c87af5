import { flushCompileCache } from "node:module";
import { Socket } from "node:net";
import process from "node:process";
import { trustAuthorities } from "../trusted-authorities.ts";
import { CONTROL_FD, EVENTS_FD } from "./child-protocol.ts";
import { enterFolder } from "./enter-folder.ts";
import { runExecutor } from "./run-executor.ts";

// The executor as a child process, with pipes of its own beside the standard streams. It may have been started before its job was known.

try {
  trustAuthorities(process.env);
} catch (error) {
  // A step that needs them says so; others can be executed.
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
}
// The next one starts faster from now on: this one may be killed at any moment.
flushCompileCache();
await runExecutor({
  control: new Socket({ fd: CONTROL_FD, readable: true, writable: false }),
  events: new Socket({ fd: EVENTS_FD, readable: false, writable: true }),
  enter: (job) => enterFolder(job, process),
  kill: () => {
    try {
      process.kill(-process.pid, "SIGKILL");
    } catch {
      process.exit(1);
    }
  },
});
