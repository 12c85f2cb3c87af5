import { Socket } from "node:net";
import process from "node:process";
import { CONTROL_FD, EVENTS_FD } from "./child-protocol.ts";
import { runExecutor } from "./run-executor.ts";

// The executor as a child process, with pipes of its own beside the standard streams.

await runExecutor({
  control: new Socket({ fd: CONTROL_FD, readable: true, writable: false }),
  events: new Socket({ fd: EVENTS_FD, readable: false, writable: true }),
  kill: () => {
    try {
      process.kill(-process.pid, "SIGKILL");
    } catch {
      process.exit(1);
    }
  },
});
