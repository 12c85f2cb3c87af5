/*
 * The provider of notes as a program of its own, in the Terraform plugin protocol. Its notes lie in the folder that NOTES
 * names; what it is asked for as a whole is noted in the file that NOTES_LOG names, a line each with the process.
 */
import { appendFileSync } from "node:fs";
import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";
import { createNotesProvider } from "./notes-provider.ts";

const note = (what: string): void =>
  appendFileSync(process.env.NOTES_LOG ?? "", `${what} ${process.pid}\n`);

note("start");
const provider = createNotesProvider(process.env.NOTES ?? "");
const noted = new Proxy(provider, {
  get(target, name) {
    const member: unknown = Reflect.get(target, name, target);
    if (typeof member !== "function") return member;
    return (...args: unknown[]): unknown => {
      if (name !== "close") note(String(name));
      return Reflect.apply(member, target, args);
    };
  },
});
await serveTerraformProvider({
  protocols: { 6: () => serveLifecycleProvider(noted, { protocol: 6 }) },
});
