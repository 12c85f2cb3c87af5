import { CommandError } from "../command-error.ts";

/** Starts something that listens, and says in words why the system did not let it. */
export async function withListenErrors<Server>(start: () => Promise<Server>): Promise<Server> {
  try {
    return await start();
  } catch (error) {
    const { code, syscall, port, address } = error as NodeJS.ErrnoException & {
      readonly port?: number;
      readonly address?: string;
    };
    if (syscall !== "listen" && syscall !== "bind") throw error;
    const place = `port ${port ?? ""} of ${address ?? "this machine"}`;
    const why =
      code === "EADDRINUSE"
        ? "another process listens there"
        : code === "EACCES"
          ? "permission denied"
          : (code ?? "the system refuses");
    throw new CommandError(`Cannot listen on ${place}: ${why}.`, {
      cause: error,
      advice: "Choose another one with --port; 0 takes any that is free.",
    });
  }
}

/** A number of a port, from the text of an option. */
export function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new CommandError(`"${text}" is not a valid port. Use a number from 0 to 65535.`);
}
