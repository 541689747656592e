// After the token view's script, in the same function: shows the data of this file. Nothing that the user views is
// reported.
const given = document.getElementById("payload");
mount({ parentElement: document.body, data: JSON.parse(given.textContent), setStateValue() {} });
