"""The C++ kernel; see bindings.cpp. Tensors are passed as addresses."""

MAX_ORDER: int
NO_TREE: int
NOT_A_NUMBER: int

def run(
    log_weights: int,
    lengths: int,
    directions: list[int],
    log_partition: int,
    jet: int,
    status: int,
    at_root: int,
    steps: int,
    count: int,
    n: int,
    copies: int,
    real_bytes: int,
    order: int,
    single_root: bool,
    always_wide: bool,
    threads: int,
) -> bool: ...
def sample(
    log_weights: int,
    lengths: int,
    at_root: int,
    steps: int,
    heads: int,
    seed: int,
    count: int,
    n: int,
    samples: int,
    real_bytes: int,
    single_root: bool,
    always_wide: bool,
    method: int,
    threads: int,
) -> None: ...
def random_bits(seed: int, stream: int, first_block: int, count: int) -> list[int]: ...
def instruction_sets() -> list[str]: ...
def use_instruction_set(name: str) -> None: ...
