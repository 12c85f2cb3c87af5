import { runBridgeProvider } from "./bridge-provider.ts";
import { supportOlderNode } from "./older-node.ts";

/* The entry of the executable; what it is a bridge to stands before this in the file. */
supportOlderNode();
void runBridgeProvider();
