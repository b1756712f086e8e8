"""What IR is made of, by the names that importers use: they import no module of xDSL's themselves."""

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

__all__ = ["Attribute", "Block", "BlockArgument", "ModuleOp", "Operation", "SSAValue", "UnknownLoc", "VerifyException", "func"]
