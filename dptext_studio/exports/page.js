// Behind the token view's script, in the same function: shows the data of this file. Nobody hears of what is looked at.
const given = document.getElementById("payload");
mount({ parentElement: document.body, data: JSON.parse(given.textContent), setStateValue() {} });
