import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  createFileRegistry,
  type DescFile,
  type DescMessage,
  type FileRegistry,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

/** Folder of this package. */
export const PACKAGE_FOLDER = join(import.meta.dirname, "../..");

/** Compiles the `.proto` files as they are now, with the buf of this package and no network. */
export function compileProtos(): FileRegistry {
  const manifest = createRequire(import.meta.url).resolve("@bufbuild/buf/package.json");
  const image = execFileSync(
    process.execPath,
    [join(dirname(manifest), "bin/buf"), "build", "--as-file-descriptor-set", "-o", "-"],
    { cwd: PACKAGE_FOLDER, maxBuffer: 64 * 1024 * 1024 },
  );
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, image));
}

/** The files of a proto package. */
export function filesOf(registry: FileRegistry, protoPackage: string): DescFile[] {
  const files = [...registry.files].filter((file) => file.proto.package === protoPackage);
  if (files.length === 0) throw new Error(`there is no proto package ${protoPackage}`);
  return files;
}

/** The messages of a proto package, nested ones included, entries of maps not. */
export function messagesOf(registry: FileRegistry, protoPackage: string): DescMessage[] {
  const withNested = (message: DescMessage): DescMessage[] => [
    message,
    ...message.nestedMessages.flatMap(withNested),
  ];
  return filesOf(registry, protoPackage).flatMap((file) => file.messages.flatMap(withNested));
}
