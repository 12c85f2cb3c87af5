import { runBridgeProvider } from "./bridge-provider.ts";

/* The entry of the executable; what it is a bridge to stands before this in the file. */
void runBridgeProvider();
