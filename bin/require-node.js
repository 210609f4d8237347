/** Ends with a sentence on a Node that stopgate does not run on. Written for Node 14 and later. */
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(
    `stopgate: Node 20.19 or later is needed, and this is ${process.version} (${process.execPath})\n`,
  );
  // Claude Code and others take exit code 2 of a hook as a block.
  process.exit(process.argv[2] === 'hook' ? 1 : 2);
}
