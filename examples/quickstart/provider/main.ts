import { serveLifecycleProvider, serveTerraformProvider } from "@stackwright/tfplugin/serve";
import { createFilesProvider } from "./files-provider.ts";

// The provider as a program that an engine starts: `example.com/quickstart/files`.
await serveTerraformProvider({
  protocols: { 5: () => serveLifecycleProvider(createFilesProvider(), { protocol: 5 }) },
});
