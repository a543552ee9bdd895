// Does nothing, until it is ended.

setInterval(() => undefined, 1_000);
console.log("ready");
